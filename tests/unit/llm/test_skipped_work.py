"""Work of litellm's that is left out, told by a process of its own: what others have loaded does not count there."""

import json
import subprocess
import sys

SCRIPT = """
import gc, json, sys
from orchestrator.llm.litellm_adapter.client import load_litellm
litellm = load_litellm()
tokenizer = litellm.main._get_encoding()
is_loaded = "litellm.litellm_core_utils.default_encoding" in sys.modules
text = "some words, and naïve ones"
from litellm.litellm_core_utils.default_encoding import encoding
from litellm.llms.openai.chat import gpt_transformation
schema = {"type": "object", "properties": {"path": {"type": "string", "pattern": "\\\\p{Cc}"}}}
checked = [gpt_transformation.drop_non_python_regex_patterns(schema) for _ in range(2)]
print(json.dumps({
    "checked": checked[0],
    "is_remembered": checked[0] is checked[1],
    "is_loaded": is_loaded,
    "counts_alike": tokenizer.encode(text) == encoding.encode(text),
    "frozen": gc.get_freeze_count(),
    "is_collecting": gc.isenabled(),
}))
"""


def test_litellm_is_out_of_the_collectors_sight_loads_its_tokenizer_late_and_checks_a_schema_once() -> None:
    done = subprocess.run((sys.executable, "-c", SCRIPT), capture_output=True, text=True, check=True)

    found = json.loads(done.stdout.splitlines()[-1])
    assert found["counts_alike"]
    assert not found["is_loaded"]
    assert found["checked"] == {"type": "object", "properties": {"path": {"type": "string"}}}
    assert found["is_remembered"]
    assert found["frozen"] > 100_000
    assert found["is_collecting"]

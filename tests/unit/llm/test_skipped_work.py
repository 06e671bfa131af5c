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
print(json.dumps({
    "is_loaded": is_loaded,
    "counts_alike": tokenizer.encode(text) == encoding.encode(text),
    "frozen": gc.get_freeze_count(),
    "is_collecting": gc.isenabled(),
}))
"""


def test_litellm_is_out_of_the_collectors_sight_and_its_tokenizer_is_loaded_when_it_is_used() -> None:
    done = subprocess.run((sys.executable, "-c", SCRIPT), capture_output=True, text=True, check=True)

    found = json.loads(done.stdout.splitlines()[-1])
    assert found["counts_alike"]
    assert not found["is_loaded"]
    assert found["frozen"] > 100_000
    assert found["is_collecting"]

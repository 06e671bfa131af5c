"""Outputs of commands and models' arguments: test reports of every format, hunks, what is read out of them."""

from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random

from orchestrator.domain.judging.check import ReportFormat
from orchestrator.errors import MalformedReply
from orchestrator.judge.reports import parse_report
from orchestrator.judge.reports.failure_signature import (
    build_failure_signature,
    extract_failure_excerpt,
    extract_failure_passage,
)
from orchestrator.judge.reports.reporter_options import suggest_reporting_line
from orchestrator.judge.reports.telling_line import find_telling_line
from orchestrator.llm.output_parsing import parse_json_object
from orchestrator.report.log.tool_calls import format_tool_call
from tests.fuzzing.mutations import encode_json, mutate_bytes, mutate_document
from tests.fuzzing.odd_values import choose_text
from tests.fuzzing.target import Given, Target
from worktrees.diffs.hunks import parse_hunks

_SCENARIOS = Path(__file__).parents[2] / "scenarios" / "reports"
_HUNKS = b"""@@ -1,4 +1,5 @@ def add(a, b):
 def add(a, b):
-    return a + b
+    return b + a
+
 # end
\\ No newline at end of file
@@ -20 +21,0 @@
-gone
"""
_ARGUMENTS = {
    "path": "a.py",
    "text": "x = 1\n",
    "tasks": [{"key": "a", "title": "t", "depends_on": ["b"], "acceptance": ["it works"]}],
    "limit": 3,
    "findings": [{"id": "outcome", "met": True, "evidence": ["gate", "calc.py:3"]}],
}


@cache
def _read_seeds() -> list[bytes]:
    files = sorted(path for path in _SCENARIOS.glob("*/*") if path.suffix != ".toml")
    return [path.read_bytes() for path in files]


def _make_case(chance: Random) -> Given:
    match chance.randrange(8):
        case 0:
            return ["hunks", mutate_bytes(chance, _HUNKS)]
        case 1:
            arguments = encode_json(mutate_document(chance, _ARGUMENTS))
            if chance.random() < 0.5:
                arguments = mutate_bytes(chance, arguments)
            return ["arguments", arguments]
        case _:
            content = mutate_bytes(chance, chance.choice(_read_seeds()), most=8)
            return ["report", content, chance.choice(("python -m pytest", "npm test", choose_text(chance)))]


def _run_case(given: Given, _place: Path) -> None:
    kind, content, *more = given
    text = content.decode("utf-8", "replace")
    match kind:
        case "hunks":
            with suppress(ValueError):
                parse_hunks(text)
        case "arguments":
            format_tool_call("write", text)
            with suppress(MalformedReply):
                parse_json_object(text)
        case "report":
            _read_report(content, *more)


def _read_report(content: bytes, command: str) -> None:
    text = content.decode("utf-8", "replace")
    names: list[str] = []
    for format_ in ReportFormat:
        names += parse_report(format_, content, content, exit_code=1).outcomes or ()
        names += parse_report(format_, content).outcomes or ()
    extract_failure_excerpt(text, names[:20])
    for name in names[:3]:
        extract_failure_passage(text, name)
    build_failure_signature(text)
    find_telling_line(text)
    suggest_reporting_line(command, text)


TARGET = Target("outputs", _make_case, _run_case)

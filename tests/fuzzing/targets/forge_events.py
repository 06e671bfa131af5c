"""Events of a forge, through `orchestrate ci event`."""

from pathlib import Path
from random import Random
from typing import Any

from tests.fuzzing.ground import check_verb
from tests.fuzzing.mutations import encode_json, mutate_bytes, mutate_document
from tests.fuzzing.odd_values import choose_argument, choose_text
from tests.fuzzing.target import Given, Target
from tests.running.cli import environment
from tests.running.in_process import orchestrate

_ISSUE = {"number": 12, "title": "Add CSV export", "body": "With a header line.\r\n<!-- x -->", "state": "open"}
_PAYLOADS: dict[str, dict[str, Any]] = {
    "workflow_dispatch": {"inputs": {"goal": "tidy", "budget_usd": "5", "time_limit": "1h", "dry_run": "false"}},
    "repository_dispatch": {"client_payload": {"resume_run": "20261120-101705-7f3a", "issue": "3"}},
    "issues": {"issue": _ISSUE, "label": {"name": "orchestrate"}},
    "issue_comment": {"issue": _ISSUE, "comment": {"body": "/orchestrate approve landing/parser@1"}},
    "schedule": {"schedule": "0 0 * * *"},
    "push": {"ref": "refs/heads/main"},
}


def _make_case(chance: Random) -> Given:
    kind = chance.choice(list(_PAYLOADS))
    payload = _PAYLOADS[kind]
    if kind == "issue_comment" and chance.random() < 0.6:
        verb = chance.choice(("run", "resume", "approve", "deny", "send-back", "reject", choose_text(chance)))
        payload = {**payload, "comment": {"body": f"/orchestrate {verb} {choose_text(chance)}"}}
    content = encode_json(mutate_document(chance, payload))
    if chance.random() < 0.4:
        content = mutate_bytes(chance, content)
    given: Given = [["event", kind, content]]
    if chance.random() < 0.3:
        given.append(["word", chance.choice(("--time-limit", "--budget-usd", "--goal-file")), choose_argument(chance)])
    if chance.random() < 0.3:
        name = chance.choice(("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GOAL_OF_SCHEDULE", "GITHUB_EVENT_NAME"))
        given.append(["variable", name, choose_argument(chance)])
    return given


def _run_case(given: Given, place: Path) -> None:
    words = ["ci", "event"]
    variables = {"GITHUB_OUTPUT": str(place / "outputs")}
    for kind, *values in given:
        match kind:
            case "event":
                (place / "event.json").write_bytes(values[1])
                variables["GITHUB_EVENT_PATH"] = str(place / "event.json")
                variables.setdefault("GITHUB_EVENT_NAME", values[0])
            case "word":
                words += values
            case "variable":
                variables[values[0]] = values[1]
    for more in ((), ("--json",)):
        done = orchestrate(*words, *more, cwd=place, env=environment(place, **variables))
        check_verb(done, words)


TARGET = Target("forge-events", _make_case, _run_case)

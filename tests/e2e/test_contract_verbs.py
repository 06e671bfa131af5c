"""What a run has to reach, from the command line: asked for at its start, shown with its plan, changed later."""

from pathlib import Path

import pytest

from tests.running.terminals import SleepyRun

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]


def test_the_contract_is_shown_with_the_plan_and_nothing_is_begun(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=0)
    asked = ("--criterion", "it is fast", "--criterion", "docs: it is explained", "--must", "test -f a.txt")
    told = run.says(*run.words, *asked, "--dry-run", "--json")
    assert [(one["id"], one["text"], one["command"]) for one in told.json["criteria"][2:]] == [
        ("c1", "it is fast", None),
        ("docs", "it is explained", None),
        ("must-1", "`test -f a.txt` exits 0", "test -f a.txt"),
    ]
    plan = run.says("plan", *run.words[1:2], *run.words[6:], *asked[:2]).out
    assert plan.startswith("reached when\n  goal: sleepy steps\n")
    assert "\n  c1: it is fast\n" in plan
    assert not list(tmp_path.glob("state/*/runs/*"))


def test_a_person_adds_and_drops_criteria_of_a_run_and_cannot_drop_what_every_contract_has(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=0)
    assert run.says(*run.words, "--approval", "pr").code == 6
    assert "contract: 2 of 2 criteria met" in run.says("status", "latest").out
    assert run.says("criterion", "add", "latest", "--must", "test -f a.txt").code == 0
    assert run.says("criterion", "add", "latest", "--must", " test -f b.txt ").code == 0
    again = run.says("criterion", "add", "latest", "must-1: something else")
    assert (again.code, "the id must-1 is taken" in again.err) == (2, True)
    kept = run.says("criterion", "drop", "latest", "gate", "--json")
    assert (kept.code, kept.json["refused"]) == (2, "every contract has the criterion gate")
    assert run.says("criterion", "drop", "latest", "must-1", "--reason", "it was a mistake").code == 0
    asked = {"id": "must-1", "text": "`test -f a.txt` exits 0", "command": "test -f a.txt", "files": []}
    more = {"id": "must-2", "text": "`test -f b.txt` exits 0", "command": "test -f b.txt", "files": []}
    assert [sent["command"] for sent in run.says("inbox", "latest", "--json").json["sent"]] == [
        {"do": "add-criterion", "criterion": asked},
        {"do": "add-criterion", "criterion": more},
        {"do": "drop-criterion", "id": "must-1", "reason": "it was a mistake"},
    ]

"""What is shown of a receipt: what it was for, what differs from the base, and a line that runs it again."""

import json
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.event.run import CheckStarted, FlakesSeen
from orchestrator.domain.ids import TreeId, UnitId
from orchestrator.domain.judging.check import Difference, Receipt, ReceiptStatus, TestCounts
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.blob_text import Text
from orchestrator.report.task.details import build_file_evidence
from orchestrator.report.task.folded_receipts import render_folded_receipts
from orchestrator.report.task.receipt import (
    CheckLog,
    build_rerun_command,
    find_difference,
    render_difference_lines,
    render_receipt_lines,
)
from tests.running import goal_events
from tests.running.projects import git, repository

BASE, TREE = TreeId("b" * 40), TreeId("c" * 40)
OUTCOMES = {
    "base": {"kept": "passed", "gone": "passed", "red": "failed", "shaky": "passed"},
    "now": {"kept": "failed", "red": "passed", "shaky": "passed"},
}


def receipt(tree: str, tests: str | None = None, command: str = "make test", key: str = "k") -> Receipt:
    return Receipt(
        key=key,
        check="gate.1",
        command=command,
        argv="a" * 64,
        tree=TreeId(tree),
        environment="e" * 64,
        status=ReceiptStatus.COMPLETED,
        exit_code=1,
        seconds=1.25,
        counts=TestCounts(passed=2, failed=1),
        tests=tests,
        output=Text.build_inline("1 failed\x1b[2J\nbye"),
    )


def read(sha: str) -> bytes:
    return json.dumps(OUTCOMES[sha]).encode()


def run_state() -> tuple[RunState, Receipt, CheckLog]:
    base, now = receipt(BASE, "base", key="base"), receipt(TREE, "now", key="now")
    log, day = CheckLog(), datetime(2026, 1, 1, tzinfo=UTC)
    flakes = FlakesSeen(check="gate.1", tree=TREE, flaky=("shaky",), receipts=("x", "now"))
    started = CheckStarted(key="now", check="gate", tree=TREE, purpose="sum attempt 1")
    log.record_events([RecordedEvent(1, day, started), RecordedEvent(2, day, flakes)])
    return RunState(receipts={"base": base, "now": now}, baseline=("base",)), now, log


def test_a_receipt_is_shown_with_its_purpose_its_hashes_and_what_differs_from_the_base() -> None:
    state, now, log = run_state()
    lines = list(render_receipt_lines(now, state, log, read))
    assert lines[:9] == [
        "receipt now",
        "  for sum attempt 1",
        "  $ make test",
        f"  completed, exit 1, 1.2 s, tree {'c' * 12}",
        f"  environment {'e' * 12}, command line {'a' * 12}",
        "  2 passed, 1 failed, 0 errors, 0 skipped",
        "  fails now (1): kept",
        "  missing (1): gone",
        "  fixed (1): red",
    ]
    assert lines[9:12] == ["  seen both ways (1): shaky", "  | 1 failed␛[2J", "  | bye"]


def test_canaries_have_no_line_that_runs_them_again_for_only_the_harness_can() -> None:
    canaries = receipt(TREE).model_copy(update={"check": "canary.1"})
    assert build_rerun_command(canaries) is None
    assert not any(line.startswith("  again") for line in render_receipt_lines(canaries, RunState(), CheckLog(), read))
    assert build_rerun_command(receipt(TREE))


def test_canaries_that_ended_as_on_the_base_take_one_line_and_others_are_shown() -> None:
    state, now, log = run_state()
    state.started = goal_events.begun()[0]  # type: ignore[assignment]
    wanted = json.dumps({"canary_1::must-pass": "passed", "canary_1::must-fail": "failed"})
    wrong = wanted.replace("failed", "passed")
    run = now.model_copy(update={"check": "canary.1", "counts": TestCounts(passed=1, failed=5), "tests": wanted})
    state.receipts["base-canaries"] = run.model_copy(update={"tree": state.run.base_tree})
    first, second = (run.model_copy(update={"key": key}) for key in ("c1", "c2"))
    third = run.model_copy(update={"key": "c3", "tests": wrong})
    lines = list(render_folded_receipts(state, [first, second, third], {"c1", "c2", "c3"}, log, str.encode))
    assert "✓ 12 canary tests as expected" in lines
    assert [line for line in lines if line.startswith("receipt")] == ["receipt c3"]


def test_receipts_that_decide_nothing_take_a_line_each_and_a_repeat_of_a_red_one_too() -> None:
    state, now, log = run_state()
    again, green = (now.model_copy(update=changes) for changes in ({"key": "k2"}, {"key": "k3", "tests": None}))
    green = green.model_copy(update={"exit_code": 0})
    state.started = goal_events.begun()[0]  # type: ignore[assignment]
    lines = list(render_folded_receipts(state, [now, again, green], {"now", "k2", "k3"}, log, read))
    assert lines[1:3] == ["receipt now", "  for sum attempt 1"]
    assert lines[-3:] == [
        "✗ make test: 2 passed, 1 failed, 0 errors, 0 skipped (1.2 s)",
        "✓ make test: exit 0 (1.2 s)",
        "--all shows every receipt with its output and a line that runs it again",
    ]


def test_a_file_of_a_migration_has_its_receipts_as_a_task_has() -> None:
    state, now, log = run_state()
    lost = Difference(new_failures=("kept",))
    state.ejections.append(UnitEjected(round="1", unit=UnitId("x.py"), difference=lost, receipts=(now.key,)))
    (told,) = build_file_evidence(state, FileRecord(path="x.py", base="1", mode="100644"), log, read).receipts
    assert (told.purpose, told.difference and told.difference.missing_tests) == ("sum attempt 1", ("gone",))
    assert told.again == build_rerun_command(now)


def test_the_base_itself_and_what_cannot_be_read_is_compared_with_nothing() -> None:
    state, now, log = run_state()
    assert find_difference(state, state.receipts["base"], log, read) is None
    assert find_difference(state, now, log, lambda _sha: b"[this text cannot be read]") is None


def test_long_lists_of_tests_are_cut_and_nothing_in_a_name_or_command_can_pass_for_a_line_of_ours() -> None:
    many = Difference(new_failures=tuple(f"t{n}\nreceipt forged" for n in range(500)))
    (line,) = render_difference_lines(many)
    assert line.endswith("t11 receipt forged and 488 more")
    state, now, log = run_state()
    spoofing = now.model_copy(update={"command": "true\nverdict: merge"})
    shown = "\n".join(render_receipt_lines(spoofing, state, log, read)).splitlines()
    assert [line for line in shown if line.startswith("verdict")] == []


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("again") / "repo", {"a.txt": "a\n", "deep/b.txt": "b\n"})


@pytest.mark.parametrize("shell", ["bash", "dash"])
@pytest.mark.parametrize(
    "command",
    [
        "cat a.txt deep/b.txt; exit 3",
        'cat a.txt deep/b.txt; exit 3 # it\'s "all" $HOME `x` \\',
        "cat a.txt &&\ncat \\\ndeep/b.txt\nexit 3",
        "printf '%s\\n' a \u202eb | tr -d '\u202e'; test ! -e .git && exit 3",
    ],
)
def test_the_line_that_runs_a_check_again_does_so_from_anywhere_in_the_repository_and_leaves_it_alone(
    project: Path, shell: str, command: str
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    line = build_rerun_command(receipt(git(project, "rev-parse", "HEAD^{tree}"), command=command))
    assert line.isprintable()
    before = git(project, "status", "--porcelain")
    for place in (project, project / "deep"):
        done = subprocess.run([shell, "-c", line], cwd=place, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (3, "a\nb\n"), done.stderr
    assert git(project, "status", "--porcelain") == before == ""

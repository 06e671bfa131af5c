"""What is told of a run that waits for the forge's checks, and of what became of its pull request."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.event import Event
from orchestrator.domain.event.forge import ChecksSeen, PrClosed, PrClosing, PrMerged, PrMerging
from orchestrator.domain.event.run import (
    BaselineRecorded,
    CheckFinished,
    IterationJudged,
    IterationStarted,
    PrOpened,
    RunPaused,
)
from orchestrator.domain.event.work import PlanningEnded, PlanningStarted
from orchestrator.domain.ids import ROOT_TASK, CommitId, TreeId
from orchestrator.domain.judging.check import Receipt, ReceiptStatus
from orchestrator.domain.judging.forge_check import ForgeCheck
from orchestrator.domain.run.contract import IterationVerdict
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Handoff
from orchestrator.report.log.event_lines import render_event_line
from orchestrator.report.run.model import ForgeChecksResult
from orchestrator.report.run.phase import get_phase
from orchestrator.report.run.result import build_run_result
from orchestrator.report.run.summary import render_summary_lines
from tests.running.goal_events import recorded, told

HEAD, NEXT, TARGET = CommitId("d" * 40), CommitId("e" * 40), CommitId("f" * 40)
PR: dict[str, Any] = {"forge": "github", "ref": "o/r#1"}
UNIT = ForgeCheck(name="unit", state="failed", summary="3 failed", url="https://ci.example/1")
LINT = ForgeCheck(name="lint", state="pending")
TYPES = ForgeCheck(name="types", state="passed")


GATE = Receipt(
    key="k",
    check="gate.1",
    command="t",
    tree=TreeId("c" * 40),
    environment="e",
    status=ReceiptStatus.COMPLETED,
    exit_code=0,
    seconds=1.0,
)


def opened(head: CommitId = HEAD) -> PrOpened:
    return PrOpened(key=f"pr/{head}~0", url="https://github.example/1", branch="x", head=head, **PR)


def seen(*checks: ForgeCheck, commit: CommitId = HEAD) -> ChecksSeen:
    return ChecksSeen(commit=commit, checks=checks, **PR)


def run(*events: Event) -> RunState:
    """A run whose planner is done and whose pull request is open, and what came then."""
    planned = [
        CheckFinished(key="k~0", receipt=GATE),
        BaselineRecorded(receipts=("k",)),
        IterationStarted(number=1),
        PlanningStarted(task=ROOT_TASK, round=1),
        PlanningEnded(task=ROOT_TASK, round=1, handoff=Handoff(summary="done")),
    ]
    return told(*planned, opened(), *events)


def checks_of(state: RunState) -> ForgeChecksResult:
    checks = build_run_result(state, Path("journal.db")).checks
    assert checks is not None
    return checks


def test_a_run_that_waits_says_for_how_many_checks_of_which_forge() -> None:
    state = run(seen(UNIT, LINT, TYPES))
    now = get_phase(state)
    assert (now.title, now.done, now.total) == ("waits for 1 check of github", 2, 3)
    assert checks_of(state).words == "failed: unit; waits for lint; 1 check passed"
    assert checks_of(state).waiting


@pytest.mark.parametrize(
    "after", [IterationJudged(number=1, verdict=IterationVerdict(decision="done")), RunPaused(reason="late", exit=5)]
)
def test_a_run_that_is_judged_or_paused_waits_no_longer(after: Event) -> None:
    state = run(seen(LINT), after)
    assert not checks_of(state).waiting
    assert "waits" not in get_phase(state).title


def test_the_time_runs_from_the_first_look_and_anew_after_a_pause_or_for_another_commit() -> None:
    first = run(seen(LINT)).forge_checks_since
    assert first is not None
    assert run(seen(LINT), seen(TYPES)).forge_checks_since == first
    assert run(seen(LINT), RunPaused(reason="late", exit=5)).forge_checks_since is None
    assert run(seen(LINT), opened(NEXT)).forge_checks is None
    later = run(seen(LINT), opened(NEXT), seen(LINT, commit=NEXT)).forge_checks_since
    assert later is not None
    assert later > first


def test_last_words_name_what_failed_and_where_the_target_stands() -> None:
    merge = {"key": "merge/1~0", "commit": HEAD, **PR}
    told_ = "\n".join(render_summary_lines(run(seen(UNIT, TYPES), PrMerging(**merge), PrMerged(new=TARGET, **merge))))
    for words in ("failed: unit; 1 check passed", "✗ unit  https://ci.example/1", f"stands at {'f' * 12}"):
        assert words in told_


def test_a_pull_request_that_was_closed_is_no_longer_the_runs_own() -> None:
    close = {"key": "close/1~0", **PR}
    state = run(seen(TYPES), PrClosing(reason="anew", **close), PrClosed(**close))
    result = build_run_result(state, Path("journal.db"))
    assert (result.pr, result.checks, state.open_intents) == (None, None, {})


def test_words_of_a_forge_stand_in_the_log_without_control_characters() -> None:
    (one,) = recorded([seen(UNIT.model_copy(update={"name": "a\x1b[2Jb"}))])
    assert render_event_line(one).endswith(f"pull request o/r#1 at {'d' * 12}: failed: a[2Jb")

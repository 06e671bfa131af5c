"""Describe the condition of a run: one word, the cause, and the command that goes on. Every place uses these words."""

from enum import StrEnum
from typing import TYPE_CHECKING

from orchestrator.domain.text.listing import format_count
from orchestrator.errors import Interrupted, PersonNeeded, Terminated
from orchestrator.report.read_model import ReadModel

if TYPE_CHECKING:
    from orchestrator.domain.run.state import RunState

STOPPED_EXITS = frozenset({Interrupted.exit_code, Terminated.exit_code})
"""The exit codes of engines that a signal stopped."""
_KILLED = "its engine is gone: it was killed, or its machine was"


class RunCondition(StrEnum):
    """The condition of a run; the value is the word that people read, but an ended run is called by its outcome.

    `ASKS`: nothing goes on until a question is answered. `PAUSED`: a person, a limit or a problem paused it. `STOPPED`:
    it is not over, and no engine works on it: it was interrupted or killed.
    """

    RUNNING = "running"
    ASKS = "asks you"
    PAUSED = "paused"
    STOPPED = "stopped"
    ENDED = "ended"


class ConditionSummary(ReadModel):
    """The condition of a run as it is printed.

    `word` is the condition, or the outcome of a run that ended. `cause` says why it does not go on or ended, `command`
    is the command line that goes on; both are empty while it runs.
    """

    condition: RunCondition
    word: str
    cause: str
    command: str


def find_condition(state: "RunState", is_at_work: bool | None = None) -> RunCondition:
    """Return the condition of a run.

    Args:
        state: the run.
        is_at_work: True if an engine works on it; None where only the journal is known, which says so as long as it
            records no end or pause.
    """
    if state.ended is not None:
        return RunCondition.ENDED
    if state.user_pause is not None:
        return RunCondition.PAUSED
    if is_at_work is None:
        is_at_work = state.paused is None
    if is_at_work:
        return RunCondition.RUNNING
    if state.paused is None or state.paused.exit in STOPPED_EXITS:
        return RunCondition.STOPPED
    if state.paused.exit == PersonNeeded.exit_code and state.pending_approvals:
        return RunCondition.ASKS
    return RunCondition.PAUSED


def describe_condition(state: "RunState", is_at_work: bool | None = None) -> ConditionSummary:
    """Return the condition of a run with its cause and the command that goes on; see `find_condition`."""
    condition = find_condition(state, is_at_work)
    word = condition.value
    if state.ended is not None:
        word = state.ended.outcome
    return ConditionSummary(
        condition=condition,
        word=word,
        cause=_get_cause(state, condition),
        command=_build_command(state, condition),
    )


def _get_cause(state: "RunState", condition: RunCondition) -> str:
    match condition:
        case RunCondition.RUNNING:
            return ""
        case RunCondition.ASKS:
            first, *others = state.pending_approvals
            more = f" (and {format_count(len(others), 'question')} more)" * bool(others)
            return f"{first.approval.title}{more}"
        case RunCondition.PAUSED if state.user_pause is not None:
            return state.user_pause
    end = state.ended or state.paused
    if end is None:
        return _KILLED
    return end.reason


def _build_command(state: "RunState", condition: RunCondition) -> str:
    run = state.run.run
    match condition:
        case RunCondition.ASKS:
            return f"orchestrate approve {run} {state.pending_approvals[0].id}"
        case RunCondition.PAUSED if state.user_pause is not None:
            return f"orchestrate continue {run}"
        case RunCondition.PAUSED | RunCondition.STOPPED:
            return f"orchestrate resume {run}"
    return ""


def explain_nothing_to_continue(state: "RunState", is_at_work: bool) -> str:
    """Return the reason why `continue` would change nothing, with what goes on; empty if it has the run go on."""
    condition = find_condition(state, is_at_work)
    if condition == RunCondition.RUNNING:
        return "the run is running: there is nothing to continue"
    if condition == RunCondition.ASKS:
        return f"the run asks you: {_build_command(state, condition)} (orchestrate inbox {state.run.run} shows all)"
    return ""

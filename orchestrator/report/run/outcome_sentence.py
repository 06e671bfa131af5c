"""Say in one sentence how a run or a task of it stands, and why. Every report begins with it.

The sentence is made from typed facts: outcome, status, cause and counts. Words of models and commands follow elsewhere.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from orchestrator.domain.migration.file_counts import FileCounts
from orchestrator.domain.run.criterion_status import list_criterion_statuses
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.domain.run.task_counts import UNCOUNTED, TaskCounts
from orchestrator.domain.run_outcome import RunOutcome
from orchestrator.domain.text.listing import add_lead, format_count, join_limited
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.run.condition import describe_condition

_SHOWN = 3
_REASON_CHARS = 200

CAUSE_WORDS: Mapping[EndCause, str] = {
    EndCause.RED_TESTS: "its tests fail",
    EndCause.MISSING_TESTS: "tests of the base are missing or skipped, and none fails",
    EndCause.RULE_BROKEN: "its change breaks a rule",
    EndCause.UNFINISHED: "the worker did not finish",
    EndCause.CONFLICT: "it conflicts with what has landed",
    EndCause.RED_TOGETHER: "tests fail when it is put on top of what has landed",
    EndCause.NO_ATTEMPT_LEFT: "no attempt is left",
    EndCause.REFUSED_BY_REVIEW: "a reviewer refused it",
    EndCause.REFUSED_BY_HOOK: "a hook refused it",
    EndCause.REFUSED_BY_VERIFIER: "it fails tests that a verifier wrote from the task",
    EndCause.REFUSED_BY_PERSON: "a person rejected it",
    EndCause.CANCELLED: "a person cancelled it",
    EndCause.BUDGET_SPENT: "its budget is spent",
    EndCause.TOO_LARGE: "it is too large for a reviewer",
    EndCause.UNREADABLE_REVIEW: "no review of it could be read",
    EndCause.UNSETTLED_TESTS: "its tests pass and fail on the same files",
    EndCause.NOT_TESTED: "it could not be tested",
    EndCause.MODEL_REFUSED: "the provider refused a call",
    EndCause.MODEL_UNREADABLE: "the model's replies could not be read",
    EndCause.GUEST_FAILED: "the program of its engine failed",
    EndCause.DEPENDENCY: "a task that it needs did not land",
    EndCause.PLANNER_FAILED: "its planner gave no plan",
    EndCause.OUT_OF_ROUNDS: "its planner has planned as often as it may",
    EndCause.WITHDRAWN: "its planner took it back",
    EndCause.REPLACED: "its planner replaced it",
    EndCause.LEFT_BEHIND: "a restart left it behind",
    EndCause.NOT_CHOSEN: "another task that tried the same was chosen",
}
"""Cause → the words that follow the name of a task and a colon."""


def describe_run_outcome(state: RunState, is_at_work: bool | None = None) -> str:
    """Return how a run stands, in one sentence with its cause; for `is_at_work` see `find_condition`."""
    if state.ended is not None:
        if state.ended.outcome == "cancelled":
            return f"Cancelled{add_lead(' (', _shorten(state.cancel_reason), ')')}: {_describe_landed(state)}."
        if state.run.mode == "migration":
            return f"{_describe_migration_end(state, state.ended.outcome)}."
        return f"{_describe_goal_end(state, state.ended.outcome)}."
    now = describe_condition(state, is_at_work)
    if now.cause:
        return f"{now.word.capitalize()}: {_shorten(now.cause)}"
    questions = format_count(len(state.pending_approvals), "question") + " for you"
    return f"{now.word.capitalize()}: {_describe_landed(state)}{f'; {questions}' * bool(state.pending_approvals)}."


def _shorten(text: str) -> str:
    return to_one_line(text, _REASON_CHARS).rstrip(".")


def _describe_landed(state: RunState) -> str:
    """Return how much has landed: `all 4 tasks landed`, `3 of 5 tasks landed`, `37 of 40 files landed`."""
    if state.run.mode == "migration":
        counts = FileCounts.from_statuses(file.status for file in state.migration.files.values())
        return _format_share(counts.landed, counts.concerned, "file")
    tasks = TaskCounts.from_statuses(task.status for task in _iterate_leaves(state))
    return _format_share(tasks.merged, tasks.total, "task")


def _iterate_leaves(state: RunState) -> Iterator[TaskState]:
    """Yield the tasks that workers do; none that was split, left behind or not chosen counts."""
    for task in state.tasks.values():
        if task.is_counted and task.status not in UNCOUNTED:
            yield task


def _format_share(part: int, whole: int, noun: str) -> str:
    if not whole:
        return f"there is no {noun} yet"
    if part == whole == 1:
        return f"the one {noun} landed"
    if part == whole:
        return f"all {format_count(whole, noun)} landed"
    return f"{part:,} of {format_count(whole, noun)} landed"


def _describe_goal_end(state: RunState, outcome: RunOutcome) -> str:
    stopped = _describe_stopped_tasks(state)
    match outcome:
        case "done":
            return f"Done: {_describe_landed(state)}, and every criterion of the contract is met"
        case "nothing-changed":
            return "Nothing was changed: the planner saw nothing to do"
        case "failed":
            return "Failed: the planner gave no plan"
        case "blocked":
            return f"Blocked: nothing landed, and not because of the work{add_lead(': ', stopped)}"
        case "rejected":
            return f"Nothing landed{add_lead(': ', stopped)}"
    open_end = _describe_unmet(state)
    if state.is_unjudged:
        open_end = "what landed could not be judged"
    parts = [f"Partly done: {_describe_landed(state)}", add_lead("not landed: ", stopped), open_end]
    return "; ".join(filter(None, parts))


def _describe_stopped_tasks(state: RunState) -> str:
    """Return the tasks that ended without landing, each with its cause."""
    names = []
    for task in _iterate_leaves(state):
        if task.status.is_terminal and not task.status.is_reached:
            names.append(f"{task.spec.id} ({describe_cause(task)})")
    return join_limited(names, _SHOWN)


def describe_cause(task: TaskState) -> str:
    """Return why a task ended without landing, in a few words."""
    if task.cause is None:
        return task.status.word
    return CAUSE_WORDS[task.cause]


def _describe_unmet(state: RunState) -> str:
    statuses = list_criterion_statuses(state)
    unmet = [status.criterion.id for status in statuses if status.finding is None or not status.finding.met]
    if not unmet:
        return ""
    return (
        f"{len(unmet)} of {format_count(len(statuses), 'criterion', 'criteria')} not met: {join_limited(unmet, _SHOWN)}"
    )


def _describe_migration_end(state: RunState, outcome: RunOutcome) -> str:
    counts = FileCounts.from_statuses(file.status for file in state.migration.files.values())
    if outcome == "nothing-changed":
        return f"Nothing was changed: no step changed any of the {format_count(counts.in_scope, 'file')} in scope"
    if outcome == "done":
        return f"Done: {_describe_landed(state)}"
    rest = counts.describe_rest()
    if counts.is_complete and state.ended is not None:
        rest = _shorten(state.ended.reason)
    head = "Nothing landed"
    if outcome == "partial":
        head = f"Partly done: {_describe_landed(state)}"
    return "; ".join([head, rest]) + _describe_commonest_failure(state)


def _describe_commonest_failure(state: RunState) -> str:
    """Return why most of the files failed that did not land, in the words of the first; empty if no two failed alike.

    Which failures are alike is told by their signatures, in which numbers and paths are taken out.
    """
    failed = [file for file in state.migration.files.values() if file.status.is_left_over and file.signature]
    for signature, files in Counter(file.signature for file in failed).most_common(1):
        first = next(file for file in failed if file.signature == signature)
        reason = _shorten(first.reason or signature)
        if len(failed) == 1:
            return f"; it failed with: {reason}"
        if files > 1:
            return f"; {files:,} failed alike, such as {to_one_line(first.path, _REASON_CHARS)}: {reason}"
    return ""


def describe_task_outcome(task: TaskState) -> str:
    """Return how a task stands, in one sentence with its cause."""
    tries = format_count(len(task.attempts), "attempt")
    match task.status:
        case TaskStatus.MERGED:
            return f"Landed after {tries}."
        case TaskStatus.DONE:
            return "Done, with all below it."
        case TaskStatus.UNFINISHED:
            return f"Unfinished after {format_count(task.rounds - 1, 'round')} of planning: {describe_cause(task)}."
        case TaskStatus.DISCARDED:
            return f"Landed after {tries}, and was left behind by a restart."
        case TaskStatus.SPLIT:
            return f"Split into smaller tasks after {tries}: {describe_cause(task)}."
    if task.status.is_terminal:
        return f"Did not land after {tries}: {describe_cause(task)}."
    if not task.attempts:
        return "Not begun."
    return f"Not over yet, at attempt {len(task.attempts)}."

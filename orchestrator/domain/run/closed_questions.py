"""Questions that close themselves: what was asked does not matter any more, because the run went on without an answer.

Nothing records that. It follows from the state, also for the journals of earlier versions.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from orchestrator.domain import ids
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.approval import Approval, ApprovalMatter, ApprovalState
from orchestrator.domain.run.task import TaskStatus

if TYPE_CHECKING:
    from orchestrator.domain.run.state import RunState, TaskState


def explain_closed_question(state: "RunState", question: ApprovalState) -> str:
    """Return why a question that nobody has answered needs no answer any more; empty while it waits for one."""
    if question.closed:
        return question.closed
    if state.ended is not None and not question.is_about_recipe:
        return f"the run has ended ({state.ended.outcome})"
    explain = _RULES.get(question.approval.matter)
    return explain(state, question.approval) if explain else ""


def _explain_landing(state: "RunState", approval: Approval) -> str:
    attempt = ids.parse_unit_id(approval.subject)
    if attempt is None or attempt.task not in state.tasks:
        return _explain_pass(state)
    task = state.tasks[attempt.task]
    if len(task.attempts) > attempt.number:
        return f"attempt {len(task.attempts)} has superseded it"
    if task.ejection is not None:
        return "the queue did not let it land"
    if task.status == TaskStatus.PLANNED:
        return "the task is tried again"
    return _describe_end(task)


def _explain_pass(state: "RunState") -> str:
    """Return why a pass of a migration needs no answer any more: none of its files has a change to land."""
    files = state.migration.files.values()
    if not files or any(file.status == FileStatus.TRANSFORMED for file in files):
        return ""
    return "none of its files waits to land any more"


def _describe_end(task: "TaskState") -> str:
    return f"the task was {task.status.word}" if task.status.is_terminal else ""


def _explain_tier(state: "RunState", approval: Approval) -> str:
    task = state.tasks.get(ids.parse_tier_task(approval.subject))
    return _describe_end(task) if task is not None else ""


def _explain_plan(state: "RunState", approval: Approval) -> str:
    planned = state.task_index.asked.get(approval.item, ())
    if planned and all(state.tasks[name].status.is_terminal for name in planned):
        return "all tasks of the plan have ended"
    return ""


def _explain_pull_request(state: "RunState", approval: Approval) -> str:
    is_overtaken = state.head is not None and not state.head.startswith(approval.subject)
    return "more has landed since" if is_overtaken and not ids.is_about_group(approval.subject) else ""


def _explain_merge(state: "RunState", approval: Approval) -> str:
    if state.pr is None:
        return "the pull request was closed"
    return "" if state.pr.head.startswith(approval.subject) else "the pull request holds another commit since"


def _explain_contract(state: "RunState", approval: Approval) -> str:
    current = ids.build_contract_subject(state.goal.iteration, state.goal.rejudge_count)
    return "what landed is judged anew" if approval.subject != current else ""


def _explain_sample(state: "RunState", approval: Approval) -> str:
    """Tries and revisions begin a new count: the question is put again where it still matters."""
    topic = ids.parse_progress_topic(approval.subject)
    if approval.subject != ids.build_progress_subject(topic, state.goal.rejudge_count):
        return "files were tried again since"
    has_swept = any(wave.kind == "sweep" for wave in state.migration.waves)
    return "the files after the sample have begun" if topic == "sample" and has_swept else ""


def _explain_gate(state: "RunState", approval: Approval) -> str:
    """Work is begun with one gate: once it has begun nobody is asked about any."""
    if any(task.attempts for task in state.tasks.values()):
        return "the work has been begun"
    if approval.subject not in state.get_baseline_receipts():
        return "another gate was run on the base"
    latest = [one.approval for one in state.approvals.values() if one.approval.matter == "gate"][-1]
    return "another gate was asked about" if approval.item != latest.item else ""


def _explain_recipe(state: "RunState", approval: Approval) -> str:
    files = state.migration.files.values()
    if not files or any(file.has_failed and approval.signature in ("", file.signature) for file in files):
        return ""
    return "no file fails any more in the way that it was about"


_RULES: Mapping[ApprovalMatter, Callable[["RunState", Approval], str]] = {
    "landing": _explain_landing,
    "tier": _explain_tier,
    "policy": _explain_tier,
    "plan": _explain_plan,
    "pull-request": _explain_pull_request,
    "merge": _explain_merge,
    "contract": _explain_contract,
    "sample": _explain_sample,
    "recipe": _explain_recipe,
    "gate": _explain_gate,
}
"""By matter, what makes a question moot. A budget is asked about until it is raised, or the run ends."""

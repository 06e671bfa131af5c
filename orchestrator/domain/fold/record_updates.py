"""Replacing records in a run's state by changed copies; a status changes only as its transition table allows."""

from collections.abc import Sequence

from orchestrator.domain.agent_lookup import build_attempt_identity
from orchestrator.domain.event.base import Event
from orchestrator.domain.event.work import AttemptStarted
from orchestrator.domain.frozen_model import copy_with_changes
from orchestrator.domain.ids import SessionId, parse_plan_task
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.grant import Grant
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.transitions import FILE_TRANSITIONS, TASK_TRANSITIONS, apply_transition


def get_named_task(state: RunState, event: Event) -> TaskState:
    """Return the task that an event is about.

    Raises:
        ValueError: it was never created.
    """
    if event.task is None or event.task not in state.tasks:
        raise ValueError(f"{event.kind} names task {event.task!r}, which was never created")
    return state.tasks[event.task]


def update_task(state: RunState, task: TaskState, status: TaskStatus | None = None, **changes: object) -> None:
    """Change fields of a task, and its status unless that is None.

    Ends are numbered, so that a planner is told what is new to it.
    """
    if status is not None:
        changes["status"] = apply_transition(TASK_TRANSITIONS, f"task {task.spec.id}", task.status, status)
        if status.is_terminal:
            state.end_count += 1
            changes["end_number"] = state.end_count
    state.tasks[task.spec.id] = copy_with_changes(task, **changes)


def add_attempt(state: RunState, event: AttemptStarted) -> None:
    """Add an attempt with its identity to its task, which is at work now."""
    task = get_named_task(state, event)
    identity = build_attempt_identity(state, event.attempt, event.engine, event.policy)
    attempts, identities = (*task.attempts, event.attempt), (*task.identities, identity)
    update_task(state, task, TaskStatus.RUNNING, attempts=attempts, identities=identities, retry=None)


def add_task_grants(state: RunState, task: TaskState, grants: Sequence[Grant]) -> None:
    """Let a task do more to what is protected."""
    if grants:
        spec = task.spec.model_copy(update={"grants": (*task.spec.grants, *grants)})
        update_task(state, task, spec=spec)


def update_file(state: RunState, path: str, status: FileStatus | None = None, **changes: object) -> None:
    """Change fields of a file of a migration, and its status unless that is None."""
    file = state.migration.files[path]
    if status is not None:
        changes["status"] = apply_transition(FILE_TRANSITIONS, f"file {path}", file.status, status)
    state.migration.files[path] = copy_with_changes(file, **changes)


def update_shard(state: RunState, name: str, **changes: object) -> None:
    """Change fields of a shard."""
    state.migration.shards[name] = copy_with_changes(state.migration.shards[name], **changes)


def update_session(state: RunState, session: SessionId, **changes: object) -> None:
    """Change fields of a conversation."""
    state.sessions[session] = copy_with_changes(state.sessions[session], **changes)


def update_approval(state: RunState, item: str, **changes: object) -> None:
    """Change fields of a question, such as its answer."""
    state.approvals[item] = copy_with_changes(state.approvals[item], **changes)


def withdraw_plan(state: RunState, question: Approval) -> None:
    """Remove the tasks of a plan that was sent back, none of which has begun. Its planner plans anew."""
    for name in list(state.task_index.asked.get(question.item, ())):
        del state.tasks[name]
    state.plan_version += 1
    planner = state.tasks.get(parse_plan_task(question.subject))
    if planner is not None:
        update_task(state, planner, uncounted_rounds=planner.uncounted_rounds + 1)


def reopen_run(state: RunState) -> None:
    """Have a run that has ended go on."""
    state.ended = None
    state.cancel_reason = ""


def format_reason(change: str, reason: str, by: str) -> str:
    """Return what a person changed and why: `held by anna: they release this week`."""
    return f"{change} by {by}" + (f": {reason}" if reason else "")

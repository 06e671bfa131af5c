"""Commands for selected things: what an action means for them, or why it means nothing; and which keys do what."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.domain.commands import definitions as commands
from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.commands.goal import find_running_call, find_running_call_of_task
from orchestrator.domain.event.work import ToolCalled
from orchestrator.domain.ids import ROOT_TASK, SessionId, TaskId, parse_effect_name, parse_unit_task
from orchestrator.domain.run.approval import ApprovalState
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.errors import UsageProblem
from orchestrator.report.rows.questions import find_question_task
from orchestrator.tui.view_model import Subject

SelectedSubjects = Sequence[Subject]


def find_question_items(selected: SelectedSubjects, state: RunState) -> list[str]:
    """Return the questions that are selected, those that selected tasks wait for, or the only one there is.

    Raises:
        UsageProblem: there is none, or it is not clear which.
    """
    waiting = {question.approval.item: question.approval for question in state.pending_approvals}
    tasks = set(_list_tasks(selected, state))
    named = [subject.id for subject in selected if subject.kind == "approval"]
    named = named or [item for item, approval in waiting.items() if find_question_task(state, approval) in tasks]
    if named or (len(waiting) == 1 and not selected):
        return named or list(waiting)
    if not waiting:
        raise UsageProblem(f"run {state.run.run} asks nothing")
    raise UsageProblem(f"run {state.run.run} asks {len(waiting)} things: choose one in the inbox")


def build_approvals(selected: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Answer yes to each question."""
    return [commands.Approve(item=item, reason=note) for item in find_question_items(selected, state)]


def build_send_backs(selected: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Send back what each question is about, with the note."""
    return [commands.SendBack(item=item, note=note) for item in find_question_items(selected, state)]


def build_rejections(selected: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Answer no to each question; the note goes to whoever asked."""
    return [commands.Reject(item=item, reason=note) for item in find_question_items(selected, state)]


def build_pause_or_continue(_selected: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Pause the run, or go on if it is paused or has stopped."""
    is_going_on = state.user_pause is None and state.paused is None
    return [commands.Pause(reason=note) if is_going_on else commands.Continue()]


def build_retries(selected: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Try each task again, or all files together.

    Raises:
        UsageProblem: nothing is chosen that could be tried again; it waits for an answer first.
    """
    _require_answered(selected, state)
    if state.run.mode == "migration":
        return [commands.RetryFiles(files=require_names(_list_files(selected, state), "file"), note=note)]
    tasks = require_names(_list_tasks(selected, state), "task")
    return [commands.Retry(task=TaskId(task), note=note) for task in tasks]


def build_words(selected: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Say something to whoever works on each chosen task.

    Raises:
        UsageProblem: no task is chosen, or there are no words.
    """
    if not note.strip():
        raise UsageProblem("there are no words to say")
    tasks = require_names(_list_tasks(selected, state), "task")
    return [commands.Tell(task=TaskId(task), note=note) for task in tasks]


def _require_answered(selected: SelectedSubjects, state: RunState) -> None:
    """Refuse to retry a task that asks whether it may land: it is to be sent back or rejected."""
    for task in _list_tasks(selected, state):
        question = find_landing_question(TaskId(task), state)
        if question is not None and state.tasks[TaskId(task)].status == TaskStatus.QUEUED:
            raise UsageProblem(f"{task} asks whether it may land ({question.id}): send it back (b), or reject it (d)")


def find_landing_question(task: TaskId, state: RunState) -> ApprovalState | None:
    """Return the question that waits whether a task's change may land; None if there is none."""
    for question in state.pending_approvals:
        if question.approval.matter == "landing" and find_question_task(state, question.approval) == task:
            return question
    return None


def build_cancellations(selected: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Leave out files of a migration; cancel tasks of a goal with all below them; or the whole run, if that is chosen.

    Raises:
        UsageProblem: nothing is chosen that could be given up; files are left out for no reason.
    """
    if any(subject.kind == "run" for subject in selected):
        return [commands.Cancel(reason=note)]
    if state.run.mode == "migration":
        files = require_names(_list_files(selected, state), "file")
        if not note.strip():
            raise UsageProblem("say why the file is left out: it is shown in reports and pull requests")
        return [commands.SkipFiles(files=files, reason=note)]
    tasks = require_names(_list_tasks(selected, state), "task")
    if ROOT_TASK in tasks:
        return [commands.Cancel(reason=note)]
    return [commands.Cancel(task=TaskId(task), reason=note) for task in tasks]


def build_call_stops(selected: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """End the command that each chosen agent waits for.

    Raises:
        UsageProblem: none of them waits for one.
    """
    found: dict[SessionId, Command] = {}
    for subject in selected:
        if (call := _find_call(subject, state)) is not None:
            found[call.session] = commands.StopCall(session=call.session, call=parse_effect_name(call.key), reason=note)
    if not found:
        names = ", ".join(subject.label for subject in selected) or "nobody"
        raise UsageProblem(f"{names} is using no tool now: there is nothing to stop")
    return list(found.values())


def _find_call(subject: Subject, state: RunState) -> ToolCalled | None:
    """Return the call that a conversation waits for, or else its task."""
    if subject.kind == "session" and (call := find_running_call(state, SessionId(subject.id))):
        return call
    if task := find_task_of_subject(subject, state):
        return find_running_call_of_task(state, TaskId(task))
    return None


def build_shard_holds(selected: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Keep shards back; release those that are held."""
    built: list[Command] = []
    for name in require_names(find_shards(selected, state), "shard"):
        is_held = state.migration.shards[name].held
        built.append(commands.ReleaseShard(shard=name) if is_held else commands.HoldShard(shard=name, reason=note))
    return built


def build_rollback(selected: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Take back what shards have landed."""
    return [commands.RollbackShards(shards=require_names(find_shards(selected, state), "shard"), reason=note)]


def build_publish(_selected: SelectedSubjects, _state: RunState, _note: str = "") -> list[Command]:
    """Open the pull requests of all groups now."""
    return [commands.Publish()]


CommandBuilder = Callable[[SelectedSubjects, RunState, str], list[Command]]


def _list_tasks(selected: SelectedSubjects, state: RunState) -> list[str]:
    return list(filter(None, dict.fromkeys(find_task_of_subject(subject, state) for subject in selected)))


def find_task_of_subject(subject: Subject, state: RunState) -> str:
    """Return the task that a thing is or belongs to; empty if there is none."""
    match subject.kind:
        case "task":
            return subject.id
        case "unit":
            return parse_unit_task(subject.id)
        case "session" if (session := state.sessions.get(SessionId(subject.id))) is not None:
            return session.task or ""
        case "approval" if (asked := state.approvals.get(subject.id)) is not None:
            return find_question_task(state, asked.approval) or ""
    return ""


def _list_files(selected: SelectedSubjects, state: RunState) -> list[str]:
    """Return selected files, those of selected shards, and those that selected conversations are about."""
    found: dict[str, None] = {}
    for subject in selected:
        if subject.kind in {"file", "unit"}:
            found[subject.id] = None
        elif subject.kind == "shard" and subject.id in state.migration.shards:
            found |= dict.fromkeys(state.migration.shards[subject.id].files)
        elif (task := state.tasks.get(TaskId(find_task_of_subject(subject, state)))) is not None:
            found |= dict.fromkeys(filter(state.migration.files.__contains__, task.spec.paths))
    return list(found)


def find_shards(selected: SelectedSubjects, state: RunState) -> list[str]:
    """Return the selected shards, and those of selected files."""
    names: dict[str, None] = {}
    for subject in selected:
        if subject.kind == "shard" and subject.id in state.migration.shards:
            names[subject.id] = None
            continue
        for path in _list_files([subject], state):
            if shard := state.migration.find_shard_of_file(path):
                names[shard.name] = None
    return list(names)


def require_names(names: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the names.

    Raises:
        UsageProblem: there is none.
    """
    if not names:
        raise UsageProblem(f"no {what} is chosen")
    return tuple(names)


NotePolicy = Literal["", "may", "must"]
"""A note with an action: none, one that may be empty, or one that is required."""


@dataclass(frozen=True)
class KeyAction:
    """An action. `note_policy` and `migration_note_policy` say whether goals and migrations take a note with it."""

    build_commands: CommandBuilder
    title: str
    note_policy: NotePolicy = ""
    migration_note_policy: NotePolicy | None = None

    def get_note_policy(self, state: RunState) -> NotePolicy:
        """Return whether a note goes with the action in this run."""
        if self.migration_note_policy is not None and state.run.mode == "migration":
            return self.migration_note_policy
        return self.note_policy


KEY_ACTIONS: Mapping[str, KeyAction] = {
    "approve": KeyAction(build_approvals, "Approve"),
    "send-back": KeyAction(build_send_backs, "Send back; what is to be changed? It goes to whoever made it", "must"),
    "reject": KeyAction(build_rejections, "Reject; why? It is kept, and goes to whoever asked", "may"),
    "pause": KeyAction(build_pause_or_continue, "Pause"),
    "retry": KeyAction(build_retries, "Try again; what is to be known this time? It goes to the worker", "may"),
    "tell": KeyAction(build_words, "Say what? It is told before the next turn, as your word", "must"),
    "give-up": KeyAction(build_cancellations, "Leave out; why? It is shown in reports and pull requests", "", "must"),
    "stop-call": KeyAction(build_call_stops, "Stop what it waits for"),
    "hold": KeyAction(build_shard_holds, "Hold or release"),
    "rollback": KeyAction(build_rollback, "Take back; why?", "may"),
    "publish": KeyAction(build_publish, "Publish"),
}
"""The actions by name; `keymap` has their keys."""

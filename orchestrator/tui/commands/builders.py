"""What an action means for the things that are chosen: the commands that carry it out, or why there are none."""

from collections.abc import Callable, Sequence

from orchestrator.domain.commands.definitions import (
    Approve,
    Cancel,
    Command,
    Continue,
    Deny,
    HoldShard,
    Pause,
    Publish,
    ReleaseShard,
    Retry,
    RetryFiles,
    RollbackShards,
    SkipFiles,
    StopCall,
)
from orchestrator.domain.commands.stop_call import find_running_call, find_running_call_of_task
from orchestrator.domain.ids import ROOT_TASK, SessionId, TaskId, parse_effect_name, parse_unit_task
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.errors import UsageProblem
from orchestrator.report.rows.questions import find_question_task
from orchestrator.tui.subject import Subject

SelectedSubjects = Sequence[Subject]


def find_question_items(chosen: SelectedSubjects, state: RunState) -> list[str]:
    """The questions that are meant: those chosen, those that chosen tasks wait for, or the only one there is.

    Raises:
        UsageProblem: there is none, or it is not clear which.
    """
    waiting = {one.approval.item: one.approval for one in state.pending_approvals}
    named = [subject.id for subject in chosen if subject.kind == "approval"]
    if named:
        return named
    tasks = set(_tasks(chosen, state))
    about = [item for item, asked in waiting.items() if find_question_task(state, asked) in tasks]
    if about:
        return about
    if len(waiting) == 1 and not chosen:
        return list(waiting)
    told = f"asks {len(waiting)} things: choose one in the inbox" if waiting else "asks nothing"
    raise UsageProblem(f"run {state.run.run} {told}")


def build_approvals(chosen: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Yes to each question."""
    return [Approve(item=item, reason=note) for item in find_question_items(chosen, state)]


def build_denials(chosen: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """No to each question; the note goes to whoever asked."""
    return [Deny(item=item, reason=note) for item in find_question_items(chosen, state)]


def build_pause_or_continue(_chosen: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Pause the run, or go on if it is paused."""
    if state.user_pause is not None:
        return [Continue()]
    return [Pause(reason=note)]


def build_retries(chosen: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Another try at each task, or at all files together.

    Raises:
        UsageProblem: nothing is chosen that could be tried again; it waits for an answer first.
    """
    _require_answered(chosen, state)
    if state.run.mode == "migration":
        return [RetryFiles(files=_required(_files(chosen, state), "file"), note=note)]
    tasks = _required(_tasks(chosen, state), "task")
    return [Retry(task=TaskId(task), note=note) for task in tasks]


def _require_answered(chosen: SelectedSubjects, state: RunState) -> None:
    """What asks whether it may land is not tried again before somebody has said no."""
    asked = {
        find_question_task(state, one.approval) for one in state.pending_approvals if one.approval.matter == "landing"
    }
    queued = {task for task, one in state.tasks.items() if one.status == TaskStatus.QUEUED}
    waiting = [task for task in _tasks(chosen, state) if task in asked & queued]
    if waiting:
        raise UsageProblem(f"{waiting[0]} asks whether it may land: deny that first (d), then it can be tried again")


def build_cancellations(chosen: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Leave out files of a migration; cancel tasks of a goal with all below them; or the whole run, if that is chosen.

    Raises:
        UsageProblem: nothing is chosen that could be given up; files are left out for no reason.
    """
    if any(subject.kind == "run" for subject in chosen):
        return [Cancel(reason=note)]
    if state.run.mode == "migration":
        files = _required(_files(chosen, state), "file")
        if not note.strip():
            raise UsageProblem("say why the file is left out: it is shown in reports and pull requests")
        return [SkipFiles(files=files, reason=note)]
    tasks = _required(_tasks(chosen, state), "task")
    return [Cancel(task=TaskId(task) if task != ROOT_TASK else None, reason=note) for task in tasks]


def build_call_stops(chosen: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """End the command that each chosen agent waits for.

    Raises:
        UsageProblem: none of them waits for one.
    """
    found: dict[SessionId, Command] = {}
    for subject in chosen:
        call = find_running_call(state, SessionId(subject.id)) if subject.kind == "session" else None
        for task in [] if call else _tasks([subject], state):
            call = find_running_call_of_task(state, TaskId(task))
        if call is not None:
            found[call.session] = StopCall(session=call.session, call=parse_effect_name(call.key), reason=note)
    if not found:
        names = ", ".join(subject.title or subject.id for subject in chosen) or "nobody"
        raise UsageProblem(f"{names} is using no tool now: there is nothing to stop")
    return list(found.values())


def build_shard_holds(chosen: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Keep shards back; release those that are held."""
    return [
        ReleaseShard(shard=name) if state.shards[name].held else HoldShard(shard=name, reason=note)
        for name in _required(_shards(chosen, state), "shard")
    ]


def build_rollback(chosen: SelectedSubjects, state: RunState, note: str = "") -> list[Command]:
    """Take back what shards have landed."""
    return [RollbackShards(shards=_required(_shards(chosen, state), "shard"), reason=note)]


def build_publish(_chosen: SelectedSubjects, _state: RunState, _note: str = "") -> list[Command]:
    """Open the pull requests of all groups now."""
    return [Publish()]


CommandBuilder = Callable[[SelectedSubjects, RunState, str], list[Command]]


def _tasks(chosen: SelectedSubjects, state: RunState) -> list[str]:
    found = (find_task_of_subject(subject, state) for subject in chosen)
    return list(dict.fromkeys(task for task in found if task))


def find_task_of_subject(subject: Subject, state: RunState) -> str:
    """The task that a thing is or belongs to; empty if that is none."""
    match subject.kind:
        case "task":
            return subject.id
        case "unit":
            return parse_unit_task(subject.id)
        case "session":
            session = state.sessions.get(SessionId(subject.id))
            if session:
                return session.task or ""
            return ""
        case "approval" if (asked := state.approvals.get(subject.id)) is not None:
            return find_question_task(state, asked.approval) or ""
    return ""


def _files(chosen: SelectedSubjects, state: RunState) -> list[str]:
    """The files meant: those chosen, those of chosen shards, and those that chosen conversations are about."""
    found: dict[str, None] = {}
    for subject in chosen:
        if subject.kind in {"file", "unit"}:
            found[subject.id] = None
        elif subject.kind == "shard" and subject.id in state.shards:
            found |= dict.fromkeys(state.shards[subject.id].files)
        elif (task := state.tasks.get(TaskId(find_task_of_subject(subject, state)))) is not None:
            found |= dict.fromkeys(path for path in task.spec.paths if path in state.files)
    return list(found)


def _shards(chosen: SelectedSubjects, state: RunState) -> list[str]:
    found: dict[str, None] = {}
    for subject in chosen:
        shard = subject.id if subject.kind == "shard" else ""
        for path in [] if shard else _files([subject], state):
            shard = one.name if (one := state.find_shard_of_file(path)) else ""
        if shard in state.shards:
            found[shard] = None
    return list(found)


def _required(names: Sequence[str], what: str) -> tuple[str, ...]:
    if not names:
        raise UsageProblem(f"no {what} is chosen")
    return tuple(names)

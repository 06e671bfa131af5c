"""The current phase of a run and its progress, for progress bars and heartbeats."""

from collections import Counter
from dataclasses import dataclass

from orchestrator.domain.event.forge import ChecksSeen
from orchestrator.domain.event.migration import StepStarted
from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.judging.forge_check import list_check_names
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.run.task_counts import TaskCounts
from orchestrator.domain.text.listing import format_count
from orchestrator.report.run.forge_checks import is_waiting_for_checks
from orchestrator.report.run.open_work import describe_open_work


@dataclass(frozen=True)
class Phase:
    """The phase `title` with `done` of `total` of its parts."""

    title: str
    done: int
    total: int


def get_phase(state: RunState) -> Phase:
    """Return the current phase of a run."""
    if state.started is None:
        return Phase("starting", 0, 1)
    if state.is_draining:
        return _get_stopping_phase(state)
    if not state.baseline:
        return Phase("testing the base", 0, 1)
    if state.forge_checks and is_waiting_for_checks(state):
        return _get_waiting_phase(state.forge_checks)
    if state.run.mode == "migration":
        return _get_migration_phase(state)
    return _get_goal_phase(state)


def _get_stopping_phase(state: RunState) -> Phase:
    going_on = _get_migration_phase(state) if state.run.mode == "migration" else _get_goal_phase(state)
    work = describe_open_work(state)
    title = f"stopping, waits for {work}" if work else "stopping"
    return Phase(title, going_on.done, going_on.total)


def _get_waiting_phase(seen: ChecksSeen) -> Phase:
    total, pending = len(seen.checks), len(list_check_names(seen.checks, "pending"))
    title = f"waits for {format_count(pending, 'check')} of" if pending else "looks at the checks of"
    return Phase(f"{title} {seen.forge}", total - pending, total)


def _get_migration_phase(state: RunState) -> Phase:
    for intent in state.open_intents.values():
        if isinstance(intent, StepStarted):
            return Phase(f"step {intent.step}", state.migration.rung_files[intent.rung], intent.files)
    for step in state.tasks.values():
        if step.status == TaskStatus.PLANNING:
            return _get_step_phase(state, step)
    return _get_landing_phase(state)


def _get_step_phase(state: RunState, step: TaskState) -> Phase:
    leaves = list(state.iterate_children(step.spec.id))
    working = 0
    for leaf in leaves:
        if leaf.verdict is None and leaf.status in {TaskStatus.RUNNING, TaskStatus.JUDGING}:
            working += 1
    return Phase(f"{step.spec.title}, {working} files at work", len(leaves) - working, len(leaves))


def _get_landing_phase(state: RunState) -> Phase:
    if not state.trials:
        return Phase("migrating", 0, len(state.migration.files))
    search = state.trials[-1].round
    trials = [trial for trial in state.trials if trial.round == search]
    accepted = max((len(trial.units) for trial in trials if trial.difference.is_green), default=0)
    return Phase(_get_landing_title(state, len(trials)), accepted, len(trials[0].units))


def _get_landing_title(state: RunState, trials: int) -> str:
    if not any(isinstance(intent, CheckStarted) for intent in state.open_intents.values()):
        return "landing"
    return "testing the union" if trials == 1 else f"searching, union {trials}"


def _get_goal_phase(state: RunState) -> Phase:
    leaves = Counter(task.status for task in state.tasks.values() if task.is_counted)
    counts = {
        "at work": leaves[TaskStatus.RUNNING],
        "in review": leaves[TaskStatus.JUDGING],
        "landing": leaves[TaskStatus.QUEUED],
        "planning": sum(task.status == TaskStatus.PLANNING for task in state.tasks.values()),
    }
    title = ", ".join(f"{count} {words}" for words, count in counts.items() if count)
    tasks = TaskCounts(leaves)
    return Phase(title or "tasks", tasks.merged, tasks.total)

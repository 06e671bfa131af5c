"""The current phase of a run and its progress, for progress bars and heartbeats."""

from dataclasses import dataclass

from orchestrator.domain.event.forge import ChecksSeen
from orchestrator.domain.event.migration import StepStarted
from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.judging.forge_check import list_check_names
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.report.run.forge_checks import is_waiting_for_checks


@dataclass(frozen=True)
class Phase:
    """`done` of `total` of whatever `title` names."""

    title: str
    done: int
    total: int


def get_phase(state: RunState) -> Phase:
    """Return the current phase of a run."""
    if state.started is None:
        return Phase("starting", 0, 1)
    if not state.baseline:
        return Phase("testing the base", 0, 1)
    if state.forge_checks and is_waiting_for_checks(state):
        return _waiting(state.forge_checks)
    if state.run.mode == "migration":
        return _migrating(state)
    return _working(state)


def _waiting(seen: ChecksSeen) -> Phase:
    total, pending = len(seen.checks), len(list_check_names(seen.checks, "pending"))
    if pending:
        what = f"waits for {pending} check{'s' * (pending != 1)} of"
    else:
        what = "looks at the checks of"
    return Phase(f"{what} {seen.forge}", total - pending, total)


def _migrating(state: RunState) -> Phase:
    for intent in state.open_intents.values():
        if isinstance(intent, StepStarted):
            return Phase(f"step {intent.step}", state.rung_files[intent.rung], intent.files)
    for step in state.tasks.values():
        if step.status == TaskStatus.PLANNING:
            leaves = list(state.iterate_children(step.spec.id))
            working = sum(
                leaf.status in {TaskStatus.RUNNING, TaskStatus.JUDGING} for leaf in leaves if leaf.verdict is None
            )
            return Phase(f"{step.spec.title}, {working} files at work", len(leaves) - working, len(leaves))
    if state.trials:
        search = state.trials[-1].round
    else:
        search = ""
    trials = []
    for trial in state.trials:
        if trial.round == search:
            trials.append(trial)
    if not trials:
        return Phase("migrating", 0, len(state.files))
    accepted = max((len(trial.units) for trial in trials if trial.difference.is_green), default=0)
    testing = any(isinstance(intent, CheckStarted) for intent in state.open_intents.values())
    if len(trials) == 1:
        title = "testing the union"
    else:
        title = f"searching, union {len(trials)}"
    return Phase(title if testing else "landing", accepted, len(trials[0].units))


def _working(state: RunState) -> Phase:
    leaves = []
    for task in state.tasks.values():
        if task.spec.kind == "leaf":
            leaves.append(task)
    done = sum(task.status.is_terminal for task in leaves)
    running = []
    for task in leaves:
        if task.status == TaskStatus.RUNNING:
            running.append(task.spec.id)
    judging = sum(task.status in {TaskStatus.JUDGING, TaskStatus.QUEUED} for task in leaves)
    planning = sum(task.status == TaskStatus.PLANNING for task in state.tasks.values())
    parts = [
        f"{len(running)} working" if running else "",
        f"{judging} at the gate" if judging else "",
        f"{planning} planning" if planning else "",
    ]
    return Phase(", ".join(part for part in parts if part) or "tasks", done, len(leaves))

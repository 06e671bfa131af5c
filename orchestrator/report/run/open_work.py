"""Say what of a run is under way, for whoever waits for it to stop."""

from collections import Counter
from collections.abc import Iterator

from orchestrator.domain.event.base import Intent
from orchestrator.domain.event.migration import StepStarted
from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.event.work import ModelCalled, ToolCalled
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.text.listing import format_count

_NOUNS: dict[type[Intent], str] = {
    ModelCalled: "model call",
    ToolCalled: "command",
    CheckStarted: "test run",
    StepStarted: "step",
}
_AT_WORK = {TaskStatus.RUNNING, TaskStatus.JUDGING, TaskStatus.QUEUED}


def describe_open_work(state: RunState) -> str:
    """Return what is under way: `2 tasks (1 model call, 1 test run)`; empty if nothing is."""
    counts = Counter(filter(None, map(_get_noun, state.open_intents.values())))
    calls = ", ".join(format_count(counts[noun], noun) for noun in _NOUNS.values() if counts[noun])
    tasks = sum(1 for _ in _iterate_tasks_at_work(state))
    if not tasks:
        return calls
    words = format_count(tasks, "task")
    if calls:
        words += f" ({calls})"
    return words


def _get_noun(intent: Intent) -> str:
    return _NOUNS.get(type(intent), "")


def _iterate_tasks_at_work(state: RunState) -> Iterator[str]:
    for task in state.tasks.values():
        if task.spec.kind == "leaf" and task.status in _AT_WORK:
            yield task.spec.id

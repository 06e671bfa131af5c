"""Runs of a goal in this process, with scripted models, on real git and in the real sandbox."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.app.run_execution import RunExit, resume_run, run_goal
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from tests.running.projects import GATE_FLAGS
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, write_script, writes


class When:
    """Does something as soon as an event of a kind has been recorded for the first time."""

    def __init__(self, kind: str, act: Callable[[Any], object]) -> None:
        self._kind, self._act = kind, act

    def on_run_opened(self, state: object) -> None:
        """Nothing is to be done when the run is opened."""

    def on_event_recorded(self, recorded: Any) -> None:
        """Act on it."""
        if recorded.event.kind == self._kind:
            self._kind = ""
            self._act(recorded.event)


class Hears:
    """Is told of every event as soon as it has been recorded, before anything else happens in the run's process."""

    def __init__(self, act: Callable[[Any], object]) -> None:
        self._act = act

    def on_run_opened(self, state: object) -> None:
        """Nothing is to be done when the run is opened."""

    def on_event_recorded(self, recorded: Any) -> None:
        """Act on it."""
        self._act(recorded.event)


@dataclass
class Bench:
    """A repository to run on, and what the run is told."""

    root: Path
    repository: Path

    def options(self, items: Sequence[ScriptedReply], **flags: Any) -> Options:
        """The configuration of a run with these replies."""
        model = {"model": write_script(self.root / "script.json", items)}
        roles = {"planner": model, "worker": model, "judge": model}
        values = {"gate": GATE_FLAGS, "roles": roles, "state": {"dir": str(self.root / "state")}}
        return Options(self.repository, values | flags)

    async def run(self, *items: ScriptedReply, when: When | Hears | None = None, **flags: Any) -> RunExit:
        """A run to wherever it comes."""
        return await run_goal(self.options(items, **flags), "make it better", when)

    async def resume(self, *items: ScriptedReply, **flags: Any) -> RunExit:
        """Go on with the latest run."""
        return await resume_run(self.options(items, **flags), None)


def task(name: str) -> list[ScriptedReply]:
    """A worker writes a file of the task's name, reports, and is approved."""
    return [writes(name, f"{name}.txt", f"{name}\n"), worker_ends(name), reviews(name)]


def one(name: str) -> list[ScriptedReply]:
    """A whole run of one task."""
    return [plans("root", {"key": name}), *task(name), planner_ends(), judges()]


TWO = [plans("root", {"key": "a"}, {"key": "b", "depends_on": ["a"]}), *task("a"), *task("b"), planner_ends(), judges()]
"""A whole run of two tasks, one after the other."""


def status(ended: RunExit, name: str) -> TaskStatus:
    """Where a task stands."""
    return ended.state.tasks[TaskId(name)].status


def reason(ended: RunExit, name: str) -> str:
    """Why it stands there."""
    return ended.state.tasks[TaskId(name)].reason

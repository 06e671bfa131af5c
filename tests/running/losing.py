"""Runs in this process whose hosts are lost at given calls, and how they end."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app import run_environments
from orchestrator.app.journaled_hands import JournaledHands
from orchestrator.app.run_execution import RunExit
from orchestrator.ports.hands import Hands
from orchestrator.ports.ledger import Ledger
from tests.doubles.losing_hands import LosingHands
from tests.running.projects import tree_at


class Losses:
    """The hands of the runs that were opened; their hosts are lost at `moments`."""

    def __init__(
        self, patch: pytest.MonkeyPatch, moments: Collection[int | str] = (), *, loses_all: bool = True
    ) -> None:
        self._moments, self._loses_all = moments, loses_all
        self.opened: list[LosingHands] = []
        patch.setattr(run_environments, "JournaledHands", self._wrap)

    @property
    def hands(self) -> LosingHands:
        """The hands of the latest run."""
        return self.opened[-1]

    def _wrap(self, hands: Hands, ledger: Ledger) -> JournaledHands:
        self.opened.append(LosingHands(hands, self._moments, loses_all=self._loses_all))
        return JournaledHands(self.opened[-1], ledger)


def ending(ended: RunExit) -> dict[str, Any]:
    """How a run ended, without what may differ by its id and times."""
    state = ended.state
    repository = state.run.repository
    return {
        "error": ended.error,
        "outcome": state.ended and (state.ended.outcome, state.ended.reason),
        "tree": tree_at(Path(repository), state.run.branch) if state.landings else None,
        "tasks": {task: (one.status, one.reason) for task, one in state.tasks.items()},
        "attempts": {task: len(one.attempts) for task, one in state.tasks.items()},
        "ends": {task: [end.exit for end in one.ends] for task, one in state.tasks.items()},
        "verdicts": {task: [one.verdict.kind for one in of.verdicts] for task, of in state.tasks.items()},
        "rounds": {task: one.rounds for task, one in state.tasks.items()},
        "files": {path: (file.status, file.reason, file.blob) for path, file in state.migration.files.items()},
        "sessions": {session: one.ended for session, one in state.sessions.items()},
        "trials": len(state.trials),
        "ejections": len(state.ejections),
        "landings": [landing.units for landing in state.landings],
        "iteration": state.goal.iteration,
        "open": list(state.open_intents),
    }

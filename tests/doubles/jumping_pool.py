"""A pool of trials that lets the time of a `MarkerGate` pass while a round has nothing to do but wait."""

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from orchestrator.queue.trial_pool import PooledTrial, TrialPool
from tests.doubles.marker_gate import MarkerGate

_CHECKPOINTS = 10
"""So many until whoever has ended at the same moment has told so."""


class JumpingPool(TrialPool):
    """Runs that end at the same moment are taken together."""

    def __init__(self, tasks: TaskGroup, gate: MarkerGate) -> None:
        super().__init__(tasks)
        self._gate = gate

    async def wait_for_outcomes(self) -> list[PooledTrial]:
        await anyio.wait_all_tasks_blocked()
        while self._gate.running and not self._done:
            await self._gate.jump_to_next_end()
            for _ in range(_CHECKPOINTS):
                await checkpoint()
        return await super().wait_for_outcomes()

"""The number of runs that landing costs: of the whole gate, and of anything less."""

from collections.abc import Iterable

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.judging.check import NEW_TESTS_CHECK, OLD_TESTS_CHECK, Receipt
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus

_OTHER_NAMES = frozenset({NEW_TESTS_CHECK, OLD_TESTS_CHECK})
"""Ids under which the gate's checks run as well; on trees that mix a base and a change."""


class GateRuns(FrozenModel):
    """Runs of checks on whatever tree, also on the base and for work that did not land.

    `whole` counts those of all tests of a check of the gate, `partial` all others: of selected or repeated tests, of
    altered code, of a verifier's tests, of a task's own checks.
    """

    whole: int = 0
    partial: int = 0

    def divide_by(self, landed: int) -> tuple[float, float] | None:
        """Return the whole and the partial runs for each landed task; None while none has landed."""
        if not landed:
            return None
        return self.whole / landed, self.partial / landed


def count_gate_runs(state: RunState, receipts: Iterable[Receipt]) -> GateRuns:
    """Return the number of runs behind some receipts of a run."""
    checks, whole, partial = state.get_baseline_receipts().keys(), 0, 0
    for receipt in receipts:
        if receipt.origin is not None:
            continue  # it was taken over from an earlier run
        is_of_gate = receipt.check in checks or receipt.kind in _OTHER_NAMES
        if is_of_gate and receipt.narrows is None:
            whole += 1
        else:
            partial += 1
    return GateRuns(whole=whole, partial=partial)


def measure_runs_per_landed_task(state: RunState) -> tuple[float, float] | None:
    """Return the whole and the partial runs for each task that landed; None while none has."""
    landed = sum(task.status == TaskStatus.MERGED for task in state.tasks.values())
    return count_gate_runs(state, state.receipts.values()).divide_by(landed)

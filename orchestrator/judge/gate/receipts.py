"""The receipts of checks on trees: those in the ledger, and those that are made because there is none."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import anyio

from orchestrator.domain.ids import TreeId
from orchestrator.domain.judging.check import CheckSpec, Outcomes, Receipt, ReceiptStatus, TestOutcome
from orchestrator.errors import BlobLost, EnvironmentProblem
from orchestrator.judge.gate.check_runner import CheckedTree, CheckRunner, build_check_key
from orchestrator.judge.gate.flakiness import list_runs, read_outcomes
from orchestrator.ports.ledger import Ledger

MAX_INFRASTRUCTURE_TRIES = 2
"""A check that timed out or was killed says nothing about the tree until it has done so this often in a row."""


class Receipts:
    """Finds receipts of checks in one environment, and makes them where there are none."""

    def __init__(self, runner: CheckRunner, ledger: Ledger) -> None:
        self._runner = runner
        self._ledger = ledger
        self._base_outcomes: dict[str, Outcomes] = {}
        self._locks: defaultdict[tuple[str, TreeId], anyio.Lock] = defaultdict(anyio.Lock)

    @property
    def environment(self) -> str:
        """A hash of what besides the tree decides an outcome."""
        return self._runner.environment

    def get_lock(self, spec: CheckSpec, tree: TreeId) -> anyio.Lock:
        """Return the lock under which a check is run on a tree, so that no two do at a time."""
        return self._locks[build_check_key(spec), tree]

    def list_runs(self, spec: CheckSpec, tree: TreeId) -> Sequence[Receipt]:
        """Return every receipt of the check on the tree, oldest first, also of runs that could not be started."""
        return list_runs(self._ledger.state, build_check_key(spec), tree, self.environment)

    async def get_receipt(self, spec: CheckSpec, tree: CheckedTree, *, is_fresh: bool = False) -> Receipt:
        """Return the newest receipt of a check on a tree; with `is_fresh`, or if none counts, of a new run.

        Raises:
            EnvironmentProblem: the check could not be started.
        """
        runs, tries = self.list_runs(spec, tree.tree), 0
        is_known = bool(runs) and not is_fresh and await self.has_outcomes(runs[-1])
        receipt = runs[-1] if is_known else None
        while receipt is None or (receipt.status != ReceiptStatus.COMPLETED and tries < MAX_INFRASTRUCTURE_TRIES):
            receipt = await self._runner.run_check(spec, tree)
            tries += 1
        if receipt.status == ReceiptStatus.NOT_STARTED:
            why = receipt.problem or "nothing was said of why"
            raise EnvironmentProblem(f"the check `{spec.run}` could not be started, {tries} times in a row: {why}")
        return receipt

    async def get_nth_receipt(self, spec: CheckSpec, tree: CheckedTree, number: int) -> Receipt:
        """Return the receipt of the `number`-th run of a check on a tree, counted from 0; it may have hung.

        Raises:
            EnvironmentProblem: the check could not be started.
        """
        runs = self.list_started_runs(spec, tree.tree)
        if len(runs) > number and await self.has_outcomes(runs[number]):
            return runs[number]
        receipt = await self._runner.run_check(spec, tree)
        if receipt.status == ReceiptStatus.NOT_STARTED:
            return await self.get_receipt(spec, tree, is_fresh=True)
        return receipt

    def list_started_runs(self, spec: CheckSpec, tree: TreeId) -> Sequence[Receipt]:
        """Return every receipt of the check on the tree whose run was started, oldest first."""
        return [run for run in self.list_runs(spec, tree) if run.status != ReceiptStatus.NOT_STARTED]

    async def run_under_id(
        self, checks: Sequence[CheckSpec], check_id: str, tree: CheckedTree
    ) -> tuple[Sequence[Receipt], Outcomes]:
        """Run checks under another id, unless there are receipts; return these with the outcomes of all.

        A check that hangs is not tried again: that is an answer as well.
        """
        receipts, known = [], dict[str, TestOutcome]()
        for check in checks:
            spec = check.model_copy(update={"id": check_id})
            runs = self.list_runs(spec, tree.tree)
            receipt = runs[-1] if runs else await self._runner.run_check(spec, tree)
            receipts.append(receipt)
            with suppress(BlobLost):
                known |= await self.load_outcomes(receipt) or {}
        return receipts, known

    async def has_outcomes(self, receipt: Receipt) -> bool:
        """Return False if a damaged journal has lost the outcomes of a receipt."""
        try:
            await self.load_outcomes(receipt)
        except BlobLost:
            return False
        return True

    async def load_outcomes(self, receipt: Receipt) -> Outcomes | None:
        """Return test id → outcome of a receipt, None where the check tells only its exit code.

        Raises:
            BlobLost: a damaged journal has lost them.
        """
        if receipt.tests in self._base_outcomes:
            return self._base_outcomes[receipt.tests]
        outcomes = await read_outcomes(self._ledger, receipt)
        if receipt.tests and outcomes is not None and receipt.tree == self._ledger.state.run.base_tree:
            self._base_outcomes[receipt.tests] = outcomes
        return outcomes

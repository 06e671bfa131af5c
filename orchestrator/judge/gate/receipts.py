"""The receipts of checks on trees, known or made, and those of the base, with which they are compared.

The base is checked in its own environment, or in the trees'.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import anyio

from orchestrator.domain.event.run import BaselineRecorded, Noticed
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import CheckSpec, Outcomes, Receipt, ReceiptStatus, TestOutcome
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.errors import BlobLost, EnvironmentProblem
from orchestrator.judge.gate.baseline import find_baseline_problem, list_baseline_doubts
from orchestrator.judge.gate.check_runner import CheckedTree, CheckRunner, build_check_key
from orchestrator.judge.gate.flakiness import list_runs, list_runs_like, read_outcomes
from orchestrator.ports.ledger import Ledger, record_notice_once

_MAX_PRINTED_LINES = 15
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

    def record_calls(self, tree: TreeId, modules: Sequence[str]) -> None:
        """Let checks on a tree record calls of the functions in these modules, where they are guarded."""
        self._runner.record_calls(tree, modules)

    def get_lock(self, spec: CheckSpec, tree: TreeId) -> anyio.Lock:
        """Return the lock under which a check is run on a tree, so that no two do at a time."""
        return self._locks[build_check_key(spec), tree]

    def list_runs(self, spec: CheckSpec, tree: TreeId) -> Sequence[Receipt]:
        """Return every receipt of the check on the tree, oldest first, also of runs that could not be started."""
        return list_runs(self._ledger.state, build_check_key(spec), tree, self.environment)

    async def get_receipt(self, spec: CheckSpec, tree: CheckedTree, *, is_fresh: bool = False) -> Receipt:
        """Return the newest receipt of a check on a tree; with `is_fresh`, or if none counts, of a new run.

        Where this run has none that of an earlier run counts, but not with `is_fresh`.

        Raises:
            EnvironmentProblem: the check could not be started.
        """
        tries = 0
        receipt = None if is_fresh else await self.find_receipt(spec, tree)
        while receipt is None or (receipt.status != ReceiptStatus.COMPLETED and tries < MAX_INFRASTRUCTURE_TRIES):
            receipt = await self._runner.run_check(spec, tree)
            tries += 1
        if receipt.status == ReceiptStatus.NOT_STARTED:
            why = receipt.problem or "nothing was said of why"
            raise EnvironmentProblem(f"the check `{spec.run}` could not be started, {tries} times in a row: {why}")
        if tries:
            await self._runner.keep_receipt(spec, receipt)
        return receipt

    async def find_receipt(self, spec: CheckSpec, tree: CheckedTree) -> Receipt | None:
        """Return the newest receipt of a check on a tree, of this run or taken over from an earlier one, if any."""
        runs = self.list_runs(spec, tree.tree)
        if not runs:
            return await self._runner.take_earlier_receipt(spec, tree)
        return runs[-1] if await self.has_outcomes(runs[-1]) else None

    async def run_narrow_check(self, narrow: CheckSpec, tree: CheckedTree, whole: CheckSpec) -> Receipt:
        """Run only the tests in doubt of a check; it may hang, or run none of them.

        Raises:
            EnvironmentProblem: the check could not be started.
        """
        for _ in range(MAX_INFRASTRUCTURE_TRIES):
            receipt = await self._runner.run_check(narrow, tree, narrows=build_check_key(whole))
            if receipt.status != ReceiptStatus.NOT_STARTED:
                return receipt
        raise EnvironmentProblem(f"the check `{whole.run}` could not be started: {receipt.problem}")

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


class BaseReceipts:
    """Finds and makes the receipts of the base."""

    def __init__(self, ledger: Ledger, trees: Receipts, base: Receipts, *, is_strict: bool) -> None:
        """Compare with the base in the environment of `trees`, or, with `is_strict`, in the one of `base`."""
        self._ledger = ledger
        self._trees = trees
        self._base = base
        self._is_strict = is_strict

    async def record_baseline(self, checks: Sequence[CheckSpec], commit: CommitId, tree: TreeId) -> Sequence[Receipt]:
        """Run every check on the base, unless the ledger has the baseline of all these checks already.

        Raises:
            EnvironmentProblem: a check cannot serve as a gate.
        """
        known = self._ledger.state.get_baseline_receipts()
        if known and all(build_check_key(spec) in known for spec in checks):
            return list(known.values())
        is_migration = self._ledger.state.run.mode == "migration"
        base = CheckedTree(commit, tree, Purpose("baseline"))
        receipts = [await self._base.get_receipt(spec, base) for spec in checks]
        notices = []
        for spec, receipt in zip(checks, receipts, strict=True):
            if problem := find_baseline_problem(spec, receipt, is_migration=is_migration):
                raise EnvironmentProblem(f"{problem}\n\n{_quote_output(receipt.output.head)}")
            for doubt in list_baseline_doubts(receipt, await self._ledger.read_text(receipt.output)):
                notices.append(Noticed(level="warning", text=doubt))
        keys = tuple(receipt.key for receipt in receipts)
        await self._ledger.append(BaselineRecorded(receipts=keys), *notices)
        return receipts

    async def is_known(self, checks: Sequence[CheckSpec], commit: CommitId, tree: TreeId) -> bool:
        """Return True if there is a receipt of each check on the base whose run came to its end."""
        for spec in checks:
            receipt = await self._base.find_receipt(spec, CheckedTree(commit, tree, Purpose("baseline")))
            if receipt is None or receipt.status != ReceiptStatus.COMPLETED:
                return False
        return True

    async def get_receipt(self, spec: CheckSpec) -> Receipt:
        """Return the receipt of the base that a tree's is compared with.

        Raises:
            EnvironmentProblem: the check could not be started.
        """
        own = await self._get_recorded(spec)
        if self._base is self._trees:
            return own
        base = self._build_base("the base in the new environment")
        async with self._base.get_lock(spec, base.tree):  # whoever judges the base may hold the one of its check
            other = await self._trees.get_receipt(spec, base)
        has_run_tests = other.counts.total != other.counts.errors
        if not has_run_tests and own.counts.total:
            text = f"`{spec.run}` runs no test of the base in the new environment: does that hold all it needs?"
            notice = Noticed(level="warning", code=NoticeCode.NO_TESTS_OF_BASE, subject=spec.id, text=text)
            await record_notice_once(self._ledger, notice)
        if own.tests is None or other.tests is None or not has_run_tests:
            return own
        if self._is_strict:
            return own.model_copy(update={"exit_code": other.exit_code})
        return other

    async def _get_recorded(self, spec: CheckSpec) -> Receipt:
        """Return the check's receipt on the base; made if it is none of the gate's, or its tests are lost."""
        receipt = self._ledger.state.get_baseline_receipts().get(build_check_key(spec))
        if receipt is not None and await self._base.has_outcomes(receipt):
            return receipt
        return await self._base.get_receipt(spec, self._build_base("the lost baseline" if receipt else "baseline"))

    def _build_base(self, purpose: str) -> CheckedTree:
        run = self._ledger.state.run
        return CheckedTree(run.base, run.base_tree, Purpose(purpose))

    def lock_looks(self, spec: CheckSpec, baseline: Receipt) -> anyio.Lock:
        """Return the lock to hold while the base is looked at again."""
        return self._trees.get_lock(spec, baseline.tree)

    async def look_again(self, spec: CheckSpec, baseline: Receipt, narrow: CheckSpec | None) -> None:
        """Run a check once more on the base, in the environment of its `baseline`; only `narrow` of it if given.

        Raises:
            EnvironmentProblem: the check could not be started.
        """
        base, receipts = self._build_base("the base, again"), self._base
        if baseline.environment == self._trees.environment:
            receipts = self._trees
        if narrow is None:
            await receipts.get_receipt(spec, base, is_fresh=True)
        else:
            await receipts.run_narrow_check(narrow, base, spec)

    async def load_second_outcomes(self, spec: CheckSpec, baseline: Receipt, tree: TreeId) -> Outcomes | None:
        """Return the outcomes of another run of the base than the baseline; it is made where `tree` gives reason to.

        None if the tree is the base's, or the outcomes are lost.
        """
        base = self._build_base("the base once more")
        if tree == base.tree:
            return None
        receipts = self._trees if baseline.environment == self._trees.environment else self._base
        async with self._trees.get_lock(spec, base.tree):
            runs = list_runs_like(self._ledger.state, baseline)
            again = next((one for one in runs if one.key != baseline.key), None)
            if again is None:
                again = await receipts.get_receipt(spec, base, is_fresh=True)
        with suppress(BlobLost):
            return await receipts.load_outcomes(again)
        return None


def _quote_output(text: str) -> str:
    shown = "\n".join(f"  {line}" for line in text.splitlines()[-_MAX_PRINTED_LINES:])
    return f"It printed:\n{shown}" if shown.strip() else "It printed nothing."

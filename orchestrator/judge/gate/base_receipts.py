"""The base's receipts, with which those of trees are compared: in the base's own environment, or in the trees'."""

from collections.abc import Sequence
from contextlib import suppress

from orchestrator.domain.event.run import BaselineRecorded, Noticed
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import CheckSpec, Outcomes, Receipt
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.purpose import Purpose
from orchestrator.errors import BlobLost, EnvironmentProblem
from orchestrator.judge.gate.baseline import find_baseline_problem, list_baseline_doubts
from orchestrator.judge.gate.check_runner import CheckedTree, build_check_key
from orchestrator.judge.gate.flakiness import list_runs_like
from orchestrator.judge.gate.receipts import Receipts
from orchestrator.ports.ledger import Ledger, record_notice_once

_MAX_PRINTED_LINES = 15


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
            for doubt in list_baseline_doubts(receipt):
                notices.append(Noticed(level="warning", text=doubt))
        keys = tuple(receipt.key for receipt in receipts)
        await self._ledger.append(BaselineRecorded(receipts=keys), *notices)
        return receipts

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

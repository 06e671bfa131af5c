"""Runs of the gate's checks over some files of tests, by which nothing lands: the whole gate runs before that."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.domain.judging.check import (
    SELECTED_CHECK,
    CheckSpec,
    Difference,
    Outcomes,
    Receipt,
    ReceiptStatus,
    TestOutcome,
)
from orchestrator.judge.gate.check_runner import CheckedTree
from orchestrator.judge.gate.difference import compare_outcomes
from orchestrator.judge.gate.narrowed_command import narrow_by_keyword, narrow_to_files
from orchestrator.judge.gate.receipts import BaseReceipts, Receipts
from orchestrator.judge.repeats.runner import has_pytest
from orchestrator.judge.selection.selected_tests import find_test_file
from orchestrator.ports.gate import GateResult
from orchestrator.ports.ledger import Ledger


@dataclass(frozen=True)
class ConcernedTests:
    """Files of tests that are to run on a tree, of which `paths` are all files."""

    files: tuple[str, ...]
    paths: Collection[str]


@dataclass(frozen=True)
class SelectedOutcomes:
    """The outcomes of all checks over a selection, and the receipts of their runs."""

    outcomes: Outcomes
    receipts: tuple[Receipt, ...]


class SelectedTestRunner:
    """Runs a gate's checks over selected files, where each check can be told to run these and names its tests."""

    def __init__(self, ledger: Ledger, receipts: Receipts, baseline: BaseReceipts, checks: Sequence[CheckSpec]) -> None:
        self._ledger = ledger
        self._receipts = receipts
        self._baseline = baseline
        self._checks = checks

    async def look_at_tests(self, tree: CheckedTree, selection: ConcernedTests) -> GateResult | None:
        """Return the gate's word on a tree if the selected tests are green; None if that is not so or not sure.

        Every test of the base in these files has to be there. A red one is a matter for the whole gate, which looks
        again until it is clear whose fault that is.

        Raises:
            EnvironmentProblem: a check could not be started.
        """
        difference, keys = Difference(), list[str]()
        for spec in self._checks:
            receipt = await self._run_selected(spec, tree, selection, SELECTED_CHECK)
            if receipt is None:
                return None
            base = await self._baseline.get_receipt(spec)
            before, now = await self._receipts.load_outcomes(base), await self._receipts.load_outcomes(receipt)
            expected = _select_outcomes(before or {}, selection)
            if now is None or receipt.problem or not expected.keys() <= now.keys():
                return None
            difference += compare_outcomes(_keep_known(before or {}, now), base.exit_code, now, receipt.exit_code)
            keys.append(receipt.key)
            if not difference.is_green:
                return None
        return GateResult(tree=tree.tree, difference=difference, receipts=tuple(keys), is_whole=False)

    async def collect_outcomes(
        self, tree: CheckedTree, selection: ConcernedTests, check_id: str
    ) -> SelectedOutcomes | None:
        """Return the outcomes of the selected files on a tree, under the id of a check; None where that shows nothing.

        Raises:
            EnvironmentProblem: a check could not be started.
        """
        outcomes, receipts = dict[str, TestOutcome](), list[Receipt]()
        for spec in self._checks:
            receipt = await self._run_selected(spec, tree, selection, check_id)
            if receipt is None:
                return None
            outcomes |= await self._receipts.load_outcomes(receipt) or {}
            receipts.append(receipt)
        return SelectedOutcomes(outcomes, tuple(receipts))

    async def _run_selected(
        self, spec: CheckSpec, tree: CheckedTree, selection: ConcernedTests, check_id: str
    ) -> Receipt | None:
        """Return the receipt of a check over a selection; None if none of its files shows in it, or it did not end."""
        narrowed = await self._narrow_check(spec, selection.files)
        if narrowed is None:
            return None
        narrowed = narrowed.model_copy(update={"id": check_id})
        async with self._receipts.get_lock(narrowed, tree.tree):
            receipt = await self._get_receipt(narrowed, tree, spec)
        if receipt.status != ReceiptStatus.COMPLETED:
            return None
        outcomes = await self._receipts.load_outcomes(receipt)
        if not outcomes or not _select_outcomes(outcomes, selection):
            return None
        return receipt

    async def _get_receipt(self, narrowed: CheckSpec, tree: CheckedTree, spec: CheckSpec) -> Receipt:
        runs = self._receipts.list_started_runs(narrowed, tree.tree)
        if runs and await self._receipts.has_outcomes(runs[-1]):
            return runs[-1]
        return await self._receipts.run_narrow_check(narrowed, tree, spec)

    async def _narrow_check(self, spec: CheckSpec, files: Sequence[str]) -> CheckSpec | None:
        """Return the check over these files; pytest is told by a keyword, so that its ids and settings stay."""
        if await has_pytest(self._ledger, spec):
            return narrow_by_keyword(spec, files)
        return narrow_to_files(spec, files)


def _select_outcomes(outcomes: Outcomes, selection: ConcernedTests) -> Outcomes:
    """Return the outcomes of the tests that stand in the selected files, as far as their ids tell."""
    places: dict[str, str | None] = {}
    found = {}
    for test, outcome in outcomes.items():
        place = test.partition("::")[0]
        if place not in places:
            places[place] = find_test_file(test, selection.paths)
        if places[place] in selection.files:
            found[test] = outcome
    return found


def _keep_known(before: Outcomes, now: Outcomes) -> Outcomes:
    """Return the base's outcomes of what ran: what is left out on purpose is not missing."""
    return dict(_iterate_known(before, now.keys()))


def _iterate_known(before: Outcomes, tests: Iterable[str]) -> Iterator[tuple[str, TestOutcome]]:
    for test in tests:
        if test in before:
            yield test, before[test]

"""The gate: the run's checks, their baseline, and the difference of a tree to it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress

import anyio

from orchestrator.domain.event.notices import NoticeCode
from orchestrator.domain.event.run import BaselineRecorded, Noticed
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import CheckSpec, Difference, Outcomes, Receipt, ReceiptStatus, TestOutcome
from orchestrator.domain.run.purpose import Purpose
from orchestrator.errors import BlobLost, EnvironmentProblem
from orchestrator.judge.gate.baseline import describe_broken_run, find_baseline_problem, list_baseline_doubts
from orchestrator.judge.gate.check_runner import CheckRunner, build_check_key
from orchestrator.judge.gate.difference import compare_outcomes
from orchestrator.judge.gate.flakiness import (
    count_runs_allowed,
    exclude_flaky_failures,
    find_tests_seen_both_ways,
    list_runs_like,
    read_known_outcomes,
    read_outcomes,
)
from orchestrator.judge.gate.moved_test_ids import exclude_moved_tests
from orchestrator.judge.gate.narrowing import NarrowCheckBuilder, compare_narrow_run, narrow_check, never_narrow
from orchestrator.judge.gate.unstable_test_ids import find_unstable_tests, may_have_unstable_ids, number_unstable_cases
from orchestrator.judge.rules.protected_files import build_grant_matcher
from orchestrator.ports.gate import GateResult
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.notices import record_notice_once

_INFRASTRUCTURE_TRIES = 2
"""A check that timed out or was killed says nothing about the tree until it has done so this often in a row."""


class HarnessGate:
    """A `ports.Gate` whose verdicts rest on receipts that it made itself.

    A tree with receipts of the same checks in the same environment is not tested again, also not by two at a time.
    """

    def __init__(
        self,
        runner: CheckRunner,
        ledger: Ledger,
        checks: Sequence[CheckSpec],
        narrow: NarrowCheckBuilder = never_narrow,
        *,
        baseline_runner: CheckRunner | None = None,
        is_strict: bool = False,
    ) -> None:
        """`baseline_runner` runs the checks on the base, if that is to be another environment than the trees' own.

        Then a tree is compared with the base in its own environment, so that nobody is blamed for what the environment
        breaks; with `is_strict` it is compared with the base in the base's, and has to have mended that as well.
        """
        self._runner = runner
        self._base_runner = baseline_runner or runner
        self._is_strict = is_strict
        self._ledger = ledger
        self._checks = tuple(checks)
        self._narrow = narrow
        self._outcomes: dict[str, Outcomes] = {}
        self._turns: defaultdict[tuple[str, TreeId], anyio.Lock] = defaultdict(anyio.Lock)

    @property
    def commands(self) -> str:
        """What the gate runs, in words."""
        return " && ".join(spec.run for spec in self._checks)

    @property
    def checks(self) -> tuple[CheckSpec, ...]:
        """What a tree has to pass."""
        return self._checks

    async def get_baseline_receipt(self, spec: CheckSpec) -> Receipt:
        """The receipt that a tree's is compared with: of the base, in the environment that fits."""
        return await self._baseline(spec)

    async def record_baseline(self, commit: CommitId, tree: TreeId) -> Sequence[Receipt]:
        """Run every check on the base, unless the ledger has the baseline of all these checks already.

        Raises:
            EnvironmentProblem: a check cannot serve as a gate: it hangs, is not found or runs no test; or, in a
                migration, it is red without saying which tests are.
        """
        known = self._ledger.state.get_baseline_receipts()
        if known and all(build_check_key(spec) in known for spec in self._checks):
            return list(known.values())
        base = self._base_runner
        receipts = [await self._receipt(spec, commit, tree, Purpose("baseline"), False, base) for spec in self._checks]
        is_migration = self._ledger.state.run.mode == "migration"
        for spec, receipt in zip(self._checks, receipts, strict=True):
            if problem := find_baseline_problem(spec, receipt, is_migration=is_migration):
                raise EnvironmentProblem(f"{problem}\n\n{_printed(receipt.output.head)}")
        told = [Noticed(level="warning", text=doubt) for receipt in receipts for doubt in list_baseline_doubts(receipt)]
        await self._ledger.append(BaselineRecorded(receipts=tuple(receipt.key for receipt in receipts)), *told)
        return receipts

    async def judge_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, fresh: bool = False, reruns: int = 0
    ) -> GateResult:
        """The difference to the baseline; stops at the first check that is red.

        A tree of which only a few tests are red is tested again, `reruns` times in all, and once more if each of them
        is known as flaky by now. What earlier runs of this tree have seen counts, too.
        """
        total, cached, last = Difference(), True, self._checks[-1]
        keys: list[str] = []
        for spec in self._checks:
            async with self._turns[build_check_key(spec), tree]:
                before = frozenset(self._ledger.state.receipts)
                found, difference = await self._judged(spec, commit, tree, purpose, fresh, reruns)
            cached = cached and before.issuperset(found)
            keys += found
            total += difference
            if not total.is_green:
                last = spec
                break
        is_whole = last == self._checks[-1]
        return GateResult(tree=tree, difference=total, receipts=tuple(keys), cached=cached, is_whole=is_whole)

    async def probe_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, symptoms: Sequence[str], look: int = 0
    ) -> GateResult:
        """Whether a tree shows certain symptoms, by one run of each check, narrow where that is possible.

        Unlike `judge` it takes the first answer, also that a check hangs: whoever asks has to look again.
        """
        total, cached, is_whole = Difference(), True, True
        keys: list[str] = []
        for spec in self._checks:
            async with self._turns[build_check_key(spec), tree]:
                before = frozenset(self._ledger.state.receipts)
                receipt, difference, is_narrow = await self._probed(spec, commit, tree, purpose, symptoms, look)
            cached, is_whole = cached and receipt.key in before, is_whole and not is_narrow
            keys.append(receipt.key)
            total += difference
        return GateResult(tree=tree, difference=total, receipts=tuple(keys), cached=cached, is_whole=is_whole)

    async def _probed(
        self, spec: CheckSpec, commit: CommitId, tree: TreeId, purpose: Purpose, symptoms: Sequence[str], look: int
    ) -> tuple[Receipt, Difference, bool]:
        baseline = await self._baseline(spec)
        known = self._runs(spec, tree)
        narrow = None if len(known) > look else narrow_check(spec, symptoms, self._narrow)
        if narrow is not None:
            receipt = await self._looked(narrow, commit, tree, purpose, look)
            before, now = await self.load_outcomes(baseline), await self.load_outcomes(receipt)
            difference = compare_narrow_run(before or {}, now, symptoms) if before and now else None
            if ended := describe_broken_run(narrow, receipt):
                return receipt, Difference(problems=(f"the check `{spec.id}` {ended}",)), True
            if difference is not None:
                return receipt, difference, True
        receipt = await self._looked(spec, commit, tree, purpose, look)
        if ended := describe_broken_run(spec, receipt):
            return receipt, Difference(problems=(f"the check `{spec.id}` {ended}",)), False
        return receipt, await self._difference(spec, baseline, receipt), False

    async def _looked(self, spec: CheckSpec, commit: CommitId, tree: TreeId, purpose: Purpose, look: int) -> Receipt:
        """The receipt of the `look`-th run of a check on a tree, counted from 0; it may have hung."""
        known = self._runs(spec, tree)
        if len(known) > look and await self._has_outcomes(known[look]):
            return known[look]
        receipt = await self._runner.run_check(spec, commit, tree, purpose)
        if receipt.status == ReceiptStatus.NOT_STARTED:
            return await self._receipt(spec, commit, tree, purpose, fresh=True)
        return receipt

    def _runs(self, spec: CheckSpec, tree: TreeId) -> Sequence[Receipt]:
        """Every run of the check on the tree in this environment that was started, oldest first."""
        wanted = (build_check_key(spec), tree, self._runner.environment)
        receipts = self._ledger.state.receipts.values()
        found = (one for one in receipts if (one.check, one.tree, one.environment) == wanted)
        return [one for one in found if one.status != ReceiptStatus.NOT_STARTED]

    async def run_extra_check(self, spec: CheckSpec, commit: CommitId, tree: TreeId, purpose: Purpose) -> Receipt:
        """The receipt of a check that is not part of the gate, such as a task's own."""
        async with self._turns[build_check_key(spec), tree]:
            return await self._receipt(spec, commit, tree, purpose, fresh=False)

    async def _judged(
        self, spec: CheckSpec, commit: CommitId, tree: TreeId, purpose: Purpose, fresh: bool, reruns: int
    ) -> tuple[Sequence[str], Difference]:
        """What one check says of a tree, with the keys of the receipts which that rests on, newest last."""
        while True:
            receipt = await self._receipt(spec, commit, tree, purpose, fresh)
            runs = list_runs_like(self._ledger.state, receipt)
            difference = await self._difference(spec, await self._baseline(spec), receipt)
            if len(runs) > 1:
                difference = exclude_flaky_failures(
                    difference, find_tests_seen_both_ways(await read_known_outcomes(self._ledger, runs))
                )
            if len(runs) >= count_runs_allowed(self._ledger.state, difference, reruns):
                return tuple(dict.fromkeys([*(run.key for run in runs), receipt.key])), difference
            purpose, fresh = purpose.with_detail("again"), True

    async def collect_outcomes(
        self, commit: CommitId, tree: TreeId, purpose: Purpose
    ) -> Mapping[str, TestOutcome] | None:
        """Test id → outcome on a tree, tested only if it never was; None where a check tells only its exit code."""
        known: dict[str, TestOutcome] = {}
        for spec in self._checks:
            outcomes = await self.load_outcomes(await self.run_extra_check(spec, commit, tree, purpose))
            if outcomes is None:
                return None
            known |= outcomes
        return known

    async def run_checks_under_id(
        self, kind: str, commit: CommitId, tree: TreeId, purpose: Purpose
    ) -> tuple[Sequence[Receipt], Mapping[str, TestOutcome]]:
        """Run the checks for another purpose than to judge the tree, under an id of their own; with what they told.

        One that hangs is not tried again: that is an answer as well.
        """
        receipts, known = [], dict[str, TestOutcome]()
        for spec in self._checks:
            other = spec.model_copy(update={"id": kind})
            receipt = self._known(other, tree, self._runner) or await self._runner.run_check(
                other, commit, tree, purpose
            )
            receipts.append(receipt)
            with suppress(BlobLost):
                known |= await self.load_outcomes(receipt) or {}
        return receipts, known

    async def _receipt(
        self,
        spec: CheckSpec,
        commit: CommitId,
        tree: TreeId,
        purpose: Purpose,
        fresh: bool,
        runner: CheckRunner | None = None,
    ) -> Receipt:
        runner = runner or self._runner
        known = None if fresh else self._known(spec, tree, runner)
        if known and not await self._has_outcomes(known):
            known = None
        tries = 0
        while known is None or (known.status != ReceiptStatus.COMPLETED and tries < _INFRASTRUCTURE_TRIES):
            known = await runner.run_check(spec, commit, tree, purpose)
            tries += 1
        if known.status == ReceiptStatus.NOT_STARTED:
            why = known.problem or "nothing was said of why"
            raise EnvironmentProblem(f"the check `{spec.run}` could not be started, {tries} times in a row: {why}")
        return known

    async def _baseline(self, spec: CheckSpec) -> Receipt:
        """What a tree is compared with: the check's receipt on the base."""
        own = await self._recorded(spec)
        if self._base_runner is self._runner:
            return own
        run = self._ledger.state.run
        async with self._turns[f"{build_check_key(spec)} on the base", run.base_tree]:
            purpose = Purpose("the base in the new environment")
            there = await self._receipt(spec, run.base, run.base_tree, purpose, fresh=False)
        if there.counts.total == there.counts.errors and own.counts.total:
            text = f"`{spec.run}` runs no test of the base in the new environment: does that hold all it needs?"
            notice = Noticed(level="warning", code=NoticeCode.NO_TESTS_OF_BASE, subject=spec.id, text=text)
            await record_notice_once(self._ledger, notice)
        if own.tests is None or there.tests is None or there.counts.total == there.counts.errors:
            return own
        if self._is_strict:
            return own.model_copy(update={"exit_code": there.exit_code})
        return there

    async def _recorded(self, spec: CheckSpec) -> Receipt:
        """The check's receipt on the base; made if it is none of the gate's, or a damaged journal lost its tests."""
        receipt = self._ledger.state.get_baseline_receipts().get(build_check_key(spec))
        if receipt is not None and await self._has_outcomes(receipt):
            return receipt
        run, why = self._ledger.state.run, Purpose("the lost baseline" if receipt else "baseline")
        return await self._receipt(spec, run.base, run.base_tree, why, False, self._base_runner)

    async def _has_outcomes(self, receipt: Receipt) -> bool:
        try:
            await self.load_outcomes(receipt)
        except BlobLost:
            return False
        return True

    def _known(self, spec: CheckSpec, tree: TreeId, runner: CheckRunner) -> Receipt | None:
        wanted = (build_check_key(spec), tree, runner.environment)
        receipts = reversed(self._ledger.state.receipts.values())
        return next((r for r in receipts if (r.check, r.tree, r.environment) == wanted), None)

    async def _difference(self, spec: CheckSpec, baseline: Receipt, receipt: Receipt) -> Difference:
        if ended := describe_broken_run(spec, receipt):
            return Difference(problems=(f"the check `{spec.id}` {ended}, {_INFRASTRUCTURE_TRIES} times in a row",))
        before, now = await self.load_outcomes(baseline), await self.load_outcomes(receipt)
        difference = compare_outcomes(before, baseline.exit_code, now, receipt.exit_code)
        if before and now and may_have_unstable_ids(difference.missing_tests, before, now):
            tests = find_unstable_tests(before, await self._base_again(spec, baseline, receipt.tree) or before)
            before, now = number_unstable_cases(before, tests), number_unstable_cases(now, tests)
            difference = compare_outcomes(before, baseline.exit_code, now, receipt.exit_code)
        if difference.missing_tests and before and now:
            difference = exclude_moved_tests(difference, before, now, build_grant_matcher(self._grants()))
        is_telling = not baseline.problem or difference.missing_tests
        return difference + Difference(problems=(receipt.problem,) if receipt.problem and is_telling else ())

    async def _base_again(self, spec: CheckSpec, baseline: Receipt, tree: TreeId) -> Outcomes | None:
        """What another run of the base told than the baseline: it is made once, where a `tree` gives reason to."""
        run = self._ledger.state.run
        if tree == run.base_tree:
            return None
        async with self._turns[build_check_key(spec), run.base_tree]:
            same = []
            for one in self._ledger.state.receipts.values():
                if one.check == baseline.check:
                    same.append(one)
            known = []
            for one in same:
                if (one.tree, one.environment) == (run.base_tree, baseline.environment) and one.key != baseline.key:
                    known.append(one)
            again = next((one for one in known if one.status == ReceiptStatus.COMPLETED), None)
            if again is None:
                if baseline.environment == self._runner.environment:
                    runner = self._runner
                else:
                    runner = self._base_runner
                again = await self._receipt(spec, run.base, run.base_tree, Purpose("the base once more"), True, runner)
        with suppress(BlobLost):
            return await self.load_outcomes(again)
        return None

    def _grants(self) -> Sequence[str]:
        """What the plan lets change that is protected, for whichever of its tasks: a tree may hold the work of many."""
        return [glob for task in self._ledger.state.tasks.values() for glob in task.spec.grants]

    async def load_outcomes(self, receipt: Receipt) -> Outcomes | None:
        """Test id → outcome of a receipt, None where the check tells only its exit code.

        Raises:
            BlobLost: a damaged journal has lost them.
        """
        if receipt.tests in self._outcomes:
            return self._outcomes[receipt.tests]
        outcomes = await read_outcomes(self._ledger, receipt)
        if receipt.tests and outcomes is not None and receipt.tree == self._ledger.state.run.base_tree:
            self._outcomes[receipt.tests] = outcomes
        return outcomes


def _printed(text: str, lines: int = 15) -> str:
    shown = "\n".join(f"  {line}" for line in text.splitlines()[-lines:])
    if shown.strip():
        return f"It printed:\n{shown}"
    return "It printed nothing."

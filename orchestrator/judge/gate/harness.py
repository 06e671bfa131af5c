"""The gate: what the run's checks say of a tree, as the difference to the base."""

from collections.abc import Awaitable, Callable, Sequence

from anyio import to_thread

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import CheckSpec, Difference, Outcomes, Receipt, TestOutcome
from orchestrator.domain.purpose import Purpose
from orchestrator.judge.evolution.test_evolution import TestEvolution
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.files.grants import build_grant_matcher
from orchestrator.judge.gate import changed_test_ids, flakiness
from orchestrator.judge.gate.baseline import describe_broken_run
from orchestrator.judge.gate.check_runner import CheckedTree, CheckRunner
from orchestrator.judge.gate.difference import NarrowCheckBuilder, compare_narrow_run, compare_outcomes, narrow_check
from orchestrator.judge.gate.look_plan import LEAST_RERUNS
from orchestrator.judge.gate.receipts import MAX_INFRASTRUCTURE_TRIES, BaseReceipts, Receipts
from orchestrator.judge.gate.repeated_looks import RepeatedLooks, RerunLimits
from orchestrator.judge.selection.selected_runs import SelectedTestRunner
from orchestrator.ports.gate import GateResult
from orchestrator.ports.ledger import Ledger

ChangesReader = Callable[[TreeId], Awaitable[Sequence[ChangedFile]]]
"""Reads what differs between the run's base and a tree."""


class HarnessGate:
    """A `ports.gate.Gate` whose verdicts rest on receipts that it made itself.

    A tree with receipts of the same checks in the same environment is not tested again, also not by two at a time.
    """

    def __init__(
        self,
        runner: CheckRunner,
        ledger: Ledger,
        checks: Sequence[CheckSpec],
        narrow: NarrowCheckBuilder | None = None,
        *,
        baseline_runner: CheckRunner | None = None,
        is_strict: bool = False,
        rerun_s: float = float("inf"),
        read_changes: ChangesReader | None = None,
    ) -> None:
        """Use `baseline_runner` for the checks on the base, if that is to be another environment than the trees' own.

        Then a tree is compared with the base in its own environment, so that nobody is blamed for what the environment
        breaks; with `is_strict` it is compared with the base in the base's, and has to have mended that as well.
        By what `read_changes` returns, tests are found again that have other ids; without it ids are all that counts.
        """
        self._runner = runner
        self.receipts = base = Receipts(runner, ledger)
        if baseline_runner is not None and baseline_runner is not runner:
            base = Receipts(baseline_runner, ledger)
        self.baseline = BaseReceipts(ledger, self.receipts, base, is_strict=is_strict)
        self._ledger = ledger
        self.checks = tuple(checks)
        """The checks that a tree has to pass."""
        self.selected_tests = SelectedTestRunner(ledger, self.receipts, self.baseline, self.checks)
        self._narrow = narrow
        self.rerun_s = rerun_s
        """Seconds that all reruns of one tree may take; none begins after that."""
        self._read_changes = read_changes

    @property
    def slots(self) -> int:
        """The number of checks that run at once, now."""
        return self._runner.slots

    @property
    def commands(self) -> str:
        """The commands that the gate runs, as one line of shell."""
        return " && ".join(spec.run for spec in self.checks)

    async def record_baseline(self, commit: CommitId, tree: TreeId) -> Sequence[Receipt]:
        """Run every check on the base, unless the ledger has the baseline of all these checks already.

        Raises:
            EnvironmentProblem: a check cannot serve as a gate: it hangs, is not found or runs no test; or, in a
                migration, it is red without saying which tests are.
        """
        return await self.baseline.record_baseline(self.checks, commit, tree)

    async def is_baseline_known(self, commit: CommitId, tree: TreeId) -> bool:
        """Return True if receipts tell the baseline, of this run or of earlier ones: then nothing has to be run."""
        return await self.baseline.is_known(self.checks, commit, tree)

    async def judge_tree(
        self,
        commit: CommitId,
        tree: TreeId,
        purpose: Purpose,
        fresh: bool = False,
        reruns: int = 0,
        suspects: Sequence[str] = (),
    ) -> GateResult:
        """Return the difference to the baseline; stop at the first check that is red.

        A tree of which only a few tests are red is tested again, and the base with it, until it is clear whether they
        fail more often than there; each at most `reruns` times. Fewer than `LEAST_RERUNS` tell no rate: then one run
        counts in which all is green. What earlier runs of these trees have seen counts, too. Tests among `suspects`
        are in doubt even if they were never red in such a run.
        """
        total, is_cached, keys = Difference(), True, list[str]()
        for spec in self.checks:
            async with self.receipts.get_lock(spec, tree):
                before = frozenset(self._ledger.state.receipts)
                checked = CheckedTree(commit, tree, purpose)
                found, difference = await self._judge_by_check(
                    spec, checked, is_fresh=fresh, reruns=reruns, suspects=suspects
                )
            is_cached = is_cached and before.issuperset(found)
            keys += found
            total += difference
            if not total.is_green:
                break
        is_whole = spec == self.checks[-1]
        return GateResult(tree=tree, difference=total, receipts=tuple(keys), cached=is_cached, is_whole=is_whole)

    async def probe_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, symptoms: Sequence[str], look: int = 0
    ) -> GateResult:
        """Look for symptoms in a tree by one run of each check, narrow where that is possible.

        Unlike `judge_tree` it takes the first answer, also that a check hangs: whoever asks has to look again.
        """
        total, is_cached, is_whole, keys = Difference(), True, True, list[str]()
        for spec in self.checks:
            async with self.receipts.get_lock(spec, tree):
                before = frozenset(self._ledger.state.receipts)
                checked = CheckedTree(commit, tree, purpose)
                receipt, difference, is_narrow = await self._probe_by_check(spec, checked, symptoms, look)
            is_cached, is_whole = is_cached and receipt.key in before, is_whole and not is_narrow
            keys.append(receipt.key)
            total += difference
        return GateResult(tree=tree, difference=total, receipts=tuple(keys), cached=is_cached, is_whole=is_whole)

    async def run_extra_check(self, spec: CheckSpec, commit: CommitId, tree: TreeId, purpose: Purpose) -> Receipt:
        """Return the receipt of a check that is not part of the gate, such as a task's own."""
        async with self.receipts.get_lock(spec, tree):
            return await self.receipts.get_receipt(spec, CheckedTree(commit, tree, purpose))

    async def collect_outcomes(self, commit: CommitId, tree: TreeId, purpose: Purpose) -> Outcomes | None:
        """Return test id → outcome on a tree, tested only if it never was; None where a check tells only its exit."""
        known: dict[str, TestOutcome] = {}
        for spec in self.checks:
            outcomes = await self.receipts.load_outcomes(await self.run_extra_check(spec, commit, tree, purpose))
            if outcomes is None:
                return None
            known |= outcomes
        return known

    async def _judge_by_check(
        self, spec: CheckSpec, tree: CheckedTree, *, is_fresh: bool, reruns: int, suspects: Sequence[str]
    ) -> tuple[Sequence[str], Difference]:
        """Return what one check says of a tree, with the keys of the receipts which that rests on, newest last."""
        if reruns >= LEAST_RERUNS and tree.tree != self._ledger.state.run.base_tree:
            receipt = await self.receipts.get_receipt(spec, tree, is_fresh=is_fresh)
            limits = RerunLimits(reruns, self.rerun_s)
            looks = RepeatedLooks(
                self._ledger, self.receipts, self.baseline, self._narrow, self._compare, spec, tree, limits, suspects
            )
            return await looks.judge_tree(receipt)
        return await self._judge_by_whole_runs(spec, tree, is_fresh=is_fresh, reruns=reruns)

    async def _judge_by_whole_runs(
        self, spec: CheckSpec, tree: CheckedTree, *, is_fresh: bool, reruns: int
    ) -> tuple[Sequence[str], Difference]:
        """Return what a few whole runs of one check say: too few to compare failure rates, so a green one counts."""
        while True:
            receipt = await self.receipts.get_receipt(spec, tree, is_fresh=is_fresh)
            runs = flakiness.list_runs_like(self._ledger.state, receipt)
            difference = await self._compare(spec, await self.baseline.get_receipt(spec), receipt)
            if len(runs) > 1:
                both_ways = flakiness.find_tests_seen_both_ways(await flakiness.read_known_outcomes(self._ledger, runs))
                difference = flakiness.exclude_flaky_failures(difference, both_ways)
            if len(runs) >= flakiness.count_runs_allowed(self._ledger.state, difference, reruns):
                keys = dict.fromkeys(run.key for run in (*runs, receipt))
                return tuple(keys), difference
            tree, is_fresh = tree._replace(purpose=tree.purpose.with_detail("again")), True

    async def _probe_by_check(
        self, spec: CheckSpec, tree: CheckedTree, symptoms: Sequence[str], look: int
    ) -> tuple[Receipt, Difference, bool]:
        """Return the receipt, what it says, and whether it is one of a narrow run."""
        baseline = await self.baseline.get_receipt(spec)
        narrow = None
        if len(self.receipts.list_started_runs(spec, tree.tree)) <= look:
            narrow = narrow_check(spec, symptoms, self._narrow)
        for check in filter(None, (narrow, spec)):
            receipt = await self.receipts.get_nth_receipt(check, tree, look)
            if ended := describe_broken_run(check, receipt):
                return receipt, Difference(problems=(f"the check `{spec.id}` {ended}",)), check is narrow
            before, now = await self.receipts.load_outcomes(baseline), await self.receipts.load_outcomes(receipt)
            if check is narrow and before and now and (found := compare_narrow_run(before, now, symptoms)) is not None:
                return receipt, found, True
        return receipt, await self._compare(spec, baseline, receipt), False

    async def _compare(self, spec: CheckSpec, baseline: Receipt, receipt: Receipt) -> Difference:
        if ended := describe_broken_run(spec, receipt):
            return Difference(problems=(f"the check `{spec.id}` {ended}, {MAX_INFRASTRUCTURE_TRIES} times in a row",))
        before, now = await self.receipts.load_outcomes(baseline), await self.receipts.load_outcomes(receipt)
        difference = compare_outcomes(before, baseline.exit_code, now, receipt.exit_code)
        if before and now and changed_test_ids.may_have_unstable_ids(difference.missing_tests, before, now):
            again = await self.baseline.load_second_outcomes(spec, baseline, receipt.tree)
            tests = changed_test_ids.find_unstable_tests(before, again or before)
            before = changed_test_ids.number_unstable_cases(before, tests)
            now = changed_test_ids.number_unstable_cases(now, tests)
            difference = compare_outcomes(before, baseline.exit_code, now, receipt.exit_code)
        if (difference.missing_tests or difference.newly_skipped) and before and now:
            difference = await self._exclude_evolved_tests(difference, before, now, receipt.tree)
        if receipt.problem and (not baseline.problem or difference.missing_tests):
            return difference + Difference(problems=(receipt.problem,))
        return difference

    async def _exclude_evolved_tests(
        self, difference: Difference, before: Outcomes, now: Outcomes, tree: TreeId
    ) -> Difference:
        """Return the difference without tests that are the same under other ids, or may be gone.

        What the plan lets any of its tasks do counts: a tree may hold the work of many.
        """
        grants = self._ledger.state.task_index.list_grants()
        if self._read_changes is not None:
            evolution = TestEvolution(await self._read_changes(tree), grants)
            exclude = changed_test_ids.exclude_evolved_tests
            difference = await to_thread.run_sync(exclude, difference, before, now, evolution)
        is_granted = build_grant_matcher(grants)
        return changed_test_ids.exclude_moved_tests(difference, before, now, is_granted)

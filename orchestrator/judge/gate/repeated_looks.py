"""Looking again at a tree of which tests are red, and at its base, until it is clear whether the change is to blame."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from orchestrator.domain.judging.check import CheckSpec, Difference, Outcomes, Receipt, TestLooks
from orchestrator.errors import BlobLost
from orchestrator.judge.gate.check_runner import CheckedTree, build_check_key
from orchestrator.judge.gate.difference import NarrowCheckBuilder
from orchestrator.judge.gate.flakiness import MAX_DOUBTED_TESTS, find_tests_seen_both_ways, list_looks
from orchestrator.judge.gate.look_plan import JudgedTest, Look, NextLook, choose_next_look, judge_test
from orchestrator.judge.gate.narrow_looks import build_narrow_look
from orchestrator.judge.gate.receipts import BaseReceipts, Receipts
from orchestrator.judge.reports.parsed_report import is_test_id
from orchestrator.ports.ledger import Ledger

CompareReceipts = Callable[[CheckSpec, Receipt, Receipt], Awaitable[Difference]]
"""The difference of a whole run to the baseline."""


@dataclass(frozen=True)
class RerunLimits:
    """The number of further looks at each of two trees, and the seconds that they may take at the judged one."""

    looks: int = 0
    seconds: float = float("inf")


@dataclass
class RepeatedLooks:
    """One check on one tree, and on the base, in all of its runs. `suspects` are in doubt although none was red yet."""

    ledger: Ledger
    receipts: Receipts
    baseline: BaseReceipts
    narrow: NarrowCheckBuilder | None
    compare: CompareReceipts
    spec: CheckSpec
    tree: CheckedTree
    limits: RerunLimits
    suspects: Sequence[str] = ()
    _differences: dict[str, Difference] = field(default_factory=dict)
    _outcomes: dict[str, Outcomes] = field(default_factory=dict)

    async def judge_tree(self, newest: Receipt) -> tuple[Sequence[str], Difference]:
        """Return the keys of the tree's receipts, the most telling one last, and the difference to the base.

        Args:
            newest: the receipt of the newest whole run.
        """
        base = await self.baseline.get_receipt(self.spec)
        while True:
            difference = await self._compare(base, newest)
            seen = await self._summarize(base)
            is_hopeless = difference.is_red_otherwise or len(seen.judged) > MAX_DOUBTED_TESTS
            plan = None
            if not is_hopeless and self._count_seconds() < self.limits.seconds:
                plan = seen.choose_next_look(self.limits.looks)
            if plan is None:
                return self._list_keys(newest, seen), _conclude(difference, seen, is_hopeless=is_hopeless)
            if plan.is_base:
                await self._look_at_base(base, plan)
            else:
                newest = await self._look_at_tree(newest, plan)

    def _list_own_runs(self) -> list[Receipt]:
        """Return the completed runs of the check on the tree, whole and narrow ones, oldest first."""
        check = build_check_key(self.spec)
        return list_looks(self.ledger.state, check, self.tree.tree, self.receipts.environment)

    def _list_base_runs(self, base: Receipt) -> list[Receipt]:
        return list_looks(self.ledger.state, base.check, base.tree, base.environment)

    def _list_whole_runs(self) -> list[Receipt]:
        return [run for run in self._list_own_runs() if run.narrows is None]

    def _count_seconds(self) -> float:
        """Return how long all runs of the tree took but the first."""
        return sum(run.seconds for run in self._list_own_runs()[1:])

    async def _compare(self, base: Receipt, receipt: Receipt) -> Difference:
        if receipt.key not in self._differences:
            self._differences[receipt.key] = await self.compare(self.spec, base, receipt)
        return self._differences[receipt.key]

    async def _summarize(self, base: Receipt) -> "SeenTests":
        """Return what all looks so far say of the tests that were red on the tree."""
        looks = await self._load_looks(base)
        both_ways = find_tests_seen_both_ways([look.outcomes for look in looks if look.is_base])
        doubted, steady, whole = set[str](), Counter[str](), self._list_whole_runs()
        for run in whole:
            outcomes = await self._load_outcomes(run)
            for test in (await self._compare(base, run)).new_failures:
                if is_test_id(test) and test in outcomes:
                    doubted.add(test)
                else:
                    steady[test] += 1
            doubted.update(test for test in both_ways if test in outcomes and outcomes[test].is_red)
            doubted.update(test for test in self.suspects if test in outcomes)
        judged = [judge_test(test, looks) for test in sorted(doubted)]
        return SeenTests(tuple(judged), steady, len(whole))

    async def _load_looks(self, base: Receipt) -> list[Look]:
        """Return every look at the two trees, in the order in which they were made."""
        runs = [(run, True) for run in self._list_base_runs(base)]
        runs += [(run, False) for run in self._list_own_runs()]
        order = {key: number for number, key in enumerate(self.ledger.state.receipts)}
        all_tests = len(await self._load_outcomes(base))
        looks = []
        for run, is_base in sorted(runs, key=lambda found: order[found[0].key]):
            outcomes = await self._load_outcomes(run)
            is_whole = run.narrows is None or len(outcomes) >= all_tests
            looks.append(Look(outcomes, is_base, is_whole))
        return looks

    async def _load_outcomes(self, receipt: Receipt) -> Outcomes:
        if receipt.key not in self._outcomes:
            self._outcomes[receipt.key] = {}
            with suppress(BlobLost):
                self._outcomes[receipt.key] = await self.receipts.load_outcomes(receipt) or {}
        return self._outcomes[receipt.key]

    async def _look_at_tree(self, newest: Receipt, plan: NextLook) -> Receipt:
        """Run the check again on the tree; return the newest whole run."""
        tree = self.tree._replace(purpose=self.tree.purpose.with_detail("again"))
        check = await self._build_narrow_check(plan, self._list_own_runs())
        if check is None:
            return await self.receipts.get_receipt(self.spec, tree, is_fresh=True)
        await self.receipts.run_narrow_check(check, tree, self.spec)
        return newest

    async def _look_at_base(self, base: Receipt, plan: NextLook) -> None:
        """Run the check again on the base, unless somebody else has done so meanwhile."""
        async with self.baseline.lock_looks(self.spec, base):
            now = (await self._summarize(base)).choose_next_look(self.limits.looks)
            if now == plan:
                check = await self._build_narrow_check(plan, self._list_base_runs(base))
                await self.baseline.look_again(self.spec, base, check)

    async def _build_narrow_check(self, plan: NextLook, runs: Sequence[Receipt]) -> CheckSpec | None:
        """Return the check over the tests in doubt; None if all have to run, or a narrow run has lacked one before."""
        check = None if plan.is_whole else build_narrow_look(self.spec, plan.tests, self.narrow)
        if check is None:
            return None
        for run in runs:
            if run.check == build_check_key(check) and not set(plan.tests) <= (await self._load_outcomes(run)).keys():
                return None
        return check

    def _list_keys(self, newest: Receipt, seen: "SeenTests") -> Sequence[str]:
        """Return the keys of the tree's receipts: the newest whole run last, or one in which a guilty test is red."""
        telling = newest
        guilty = [test.test for test in seen.judged if test.is_guilty]
        for run in self._list_own_runs():
            outcomes = self._outcomes.get(run.key, {})
            if guilty and guilty[0] in outcomes and outcomes[guilty[0]].is_red:
                telling = run
        keys = dict.fromkeys(run.key for run in self._list_own_runs())
        keys.pop(telling.key, None)
        return (*keys, telling.key)


@dataclass(frozen=True)
class SeenTests:
    """The decision of all looks at a tree on the tests that were red in one.

    `steady` counts the whole runs in which something was red that cannot be counted test by test, such as a module
    that could not be imported.
    """

    judged: tuple[JudgedTest, ...]
    steady: Counter[str]
    whole_runs: int

    def choose_next_look(self, cap: int) -> NextLook | None:
        """Return the look that comes next, None if there is none."""
        if self.steady and self.whole_runs < _RUNS_OF_STEADY:
            return NextLook(is_base=False, is_whole=True, tests=())
        return choose_next_look(self.judged, cap)


_RUNS_OF_STEADY = 2


def _conclude(difference: Difference, seen: SeenTests, *, is_hopeless: bool) -> Difference:
    """Return the difference of the newest whole run with what all looks say of its red tests."""
    judged = seen.judged
    if is_hopeless:
        return difference
    if not any(test.is_guilty for test in judged):
        judged = tuple(test.decide_finally() for test in judged)
    is_red = any(test.is_guilty for test in judged)
    blamed, unsettled, flaky = set[str](), set[str](), set[str]()
    for test in judged:
        if test.is_guilty or (is_red and test.candidate.is_always_red and test.is_undecided):
            blamed.add(test.test)
        elif test.is_undecided and not is_red:
            unsettled.add(test.test)
        if not test.candidate.is_always_red or test.test not in blamed:
            flaky.add(test.test)
    for test_id, times in seen.steady.items():
        if times >= min(_RUNS_OF_STEADY, seen.whole_runs):
            blamed.add(test_id)
        else:
            flaky.add(test_id)
    return difference.model_copy(
        update={
            "new_failures": tuple(sorted(blamed)),
            "unsettled": tuple(sorted(unsettled)),
            "flaky": tuple(sorted(flaky)),
            "looks": tuple(map(_describe_looks, judged)),
        }
    )


def _describe_looks(test: JudgedTest) -> TestLooks:
    here, base = test.candidate, test.base
    return TestLooks(
        test=test.test,
        red=here.red,
        runs=here.total,
        base_red=base.red,
        base_runs=base.total,
        decision=test.decision.value,
    )

"""The plan of looks at the tests of a tree of which one was red: the next look, and the decision of all. Pure.

Narrow looks run only the tests in doubt. They count like whole ones, but they acquit nobody alone: a test that is red
in company only, because another one leaves something behind, is never red by itself. So each tree gets a second whole
look, and a test that was red in two whole looks and in none of four narrow ones is judged by whole looks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from orchestrator.domain.judging.check import Outcomes, TestOutcome
from orchestrator.judge.gate.flake_statistics import NO_LOOKS, FlakeDecision, LookCounts, decide_at_cap, decide_by_looks

LEAST_RERUNS = 6
"""With fewer looks than this no decision can be reached: then one green run of the whole tree counts, as in
`orchestrator.judge.gate.flakiness`."""
_WHOLE_LOOKS = 2
_NARROW_LOOKS = 4
"""After so many narrow looks without a red one, two red whole looks show that a test fails in company only."""


@dataclass(frozen=True)
class Look:
    """The outcomes of one run of a check; `is_base` tells on which tree, `is_whole` that all of its tests ran."""

    outcomes: Outcomes
    is_base: bool
    is_whole: bool

    def is_red(self, test: str) -> bool | None:
        """Return True if the test is red; None if it did not run."""
        outcome = self.outcomes.get(test)
        if outcome is None or outcome == TestOutcome.SKIPPED:
            return None
        return outcome.is_red


@dataclass(frozen=True)
class TreeCounts:
    """The looks at one test on one tree, by kind."""

    whole: LookCounts = NO_LOOKS
    narrow: LookCounts = NO_LOOKS

    def add_look(self, *, is_red: bool, is_whole: bool) -> "TreeCounts":
        """Return the counts with one look more."""
        if is_whole:
            return TreeCounts(self.whole.add_look(is_red=is_red), self.narrow)
        return TreeCounts(self.whole, self.narrow.add_look(is_red=is_red))

    @property
    def total(self) -> int:
        """The number of looks of both kinds."""
        return self.whole.total + self.narrow.total

    @property
    def depends_on_company(self) -> bool:
        """True if the test seems to fail only when others run with it."""
        return self.whole.red >= _WHOLE_LOOKS and self.narrow.total >= _NARROW_LOOKS and not self.narrow.red

    def sum_looks(self, *, only_whole: bool) -> LookCounts:
        """Return the looks that count."""
        if only_whole:
            return self.whole
        return LookCounts(self.whole.red + self.narrow.red, self.whole.total + self.narrow.total)


NO_COUNTS = TreeCounts()


@dataclass(frozen=True)
class JudgedTest:
    """One test with the looks that count at the tree and at its base, and what they say.

    `only_whole` tells that narrow looks do not count, `needs_whole` that the tree has to be looked at as a whole before
    the test can be acquitted.
    """

    test: str
    candidate: LookCounts = NO_LOOKS
    base: LookCounts = NO_LOOKS
    decision: FlakeDecision = FlakeDecision.UNDECIDED
    is_on_base: bool = False
    only_whole: bool = False
    needs_whole: bool = True

    @property
    def is_undecided(self) -> bool:
        """True if more looks are needed."""
        return self.decision == FlakeDecision.UNDECIDED

    @property
    def is_guilty(self) -> bool:
        """True if the change makes the test fail."""
        return self.decision == FlakeDecision.GUILTY

    @property
    def is_short_of_base(self) -> bool:
        """True if the base has been asked less often than a tree on which the test was red."""
        return self.is_on_base and self.candidate.red > 0 and self.base.total < self.candidate.total

    @property
    def compared_base(self) -> LookCounts:
        """The looks at the base; a test that it does not have counts as one that was never red there."""
        if self.is_on_base:
            return self.base
        return LookCounts(0, self.candidate.total)

    def decide_finally(self) -> "JudgedTest":
        """Return the test as it is judged if there is no further look."""
        if not self.is_undecided:
            return self
        return replace(self, decision=decide_at_cap(self.candidate, self.compared_base))


@dataclass(frozen=True)
class NextLook:
    """The look that would tell most: at which tree, at which tests, and if all others have to run with them."""

    is_base: bool
    is_whole: bool
    tests: tuple[str, ...]


@dataclass
class TestHistory:
    """All looks at one test so far, oldest first, and what they say: the first decision that is reached stands."""

    __test__ = False  # pytest would take it for a test class

    test: str
    candidate: TreeCounts = NO_COUNTS
    base: TreeCounts = NO_COUNTS
    is_decided: bool = False

    def add_look(self, look: Look) -> None:
        """Take in a look that was made after all others."""
        is_red = look.is_red(self.test)
        if is_red is None or self.is_decided:
            return
        if look.is_base:
            self.base = self.base.add_look(is_red=is_red, is_whole=look.is_whole)
        else:
            self.candidate = self.candidate.add_look(is_red=is_red, is_whole=look.is_whole)
        self.is_decided = self._decide() != FlakeDecision.UNDECIDED

    def judge_looks(self) -> JudgedTest:
        """Return the test with its counts and the decision."""
        return replace(self._count_looks(), decision=self._decide())

    def _count_looks(self) -> JudgedTest:
        only_whole = self.candidate.depends_on_company
        return JudgedTest(
            self.test,
            self.candidate.sum_looks(only_whole=only_whole),
            self.base.sum_looks(only_whole=only_whole),
            is_on_base=self.base.total > 0,
            only_whole=only_whole,
            needs_whole=only_whole or self.candidate.whole.total < _WHOLE_LOOKS,
        )

    def _decide(self) -> FlakeDecision:
        judged = self._count_looks()
        if not judged.candidate.total:
            return FlakeDecision.UNDECIDED
        decision = decide_by_looks(judged.candidate, judged.compared_base)
        if decision == FlakeDecision.INNOCENT and judged.needs_whole:
            return FlakeDecision.UNDECIDED
        return decision


def judge_test(test: str, looks: Iterable[Look]) -> JudgedTest:
    """Judge a test by all looks, oldest first."""
    history = TestHistory(test)
    for look in looks:
        history.add_look(look)
    return history.judge_looks()


def choose_next_look(judged: Sequence[JudgedTest], cap: int) -> NextLook | None:
    """Return the look that comes next; None once all tests are decided, one is guilty, or the cap is reached.

    Args:
        judged: every test that was red on the tree.
        cap: how often more than once each of the two trees may be looked at.
    """
    if any(test.is_guilty for test in judged):
        return None
    undecided = [test for test in judged if test.is_undecided]
    lacking = [test for test in undecided if test.is_short_of_base and test.base.total <= cap]
    if lacking:
        is_whole = any(test.only_whole for test in lacking)
        return NextLook(is_base=True, is_whole=is_whole, tests=tuple(test.test for test in lacking))
    wanted = [test for test in undecided if test.candidate.total <= cap]
    if not wanted:
        return None
    is_whole = any(test.needs_whole for test in wanted)
    return NextLook(is_base=False, is_whole=is_whole, tests=tuple(test.test for test in wanted))

"""A sequential test of one test's failure rate: is it higher with a change than on its base? Pure.

Wald's sequential probability ratio test (A. Wald, "Sequential Tests of Statistical Hypotheses", Annals of Mathematical
Statistics 16, 1945), with mixtures in place of single rates, since neither rate is known (H. Robbins, "Statistical
Methods Related to the Law of the Iterated Logarithm", Annals of Mathematical Statistics 41, 1970):

- innocent: the test fails at the same rate on both trees, whatever that is;
- guilty: it fails at least `LEAST_RISE` more often with the change, such as always, or half the time.

After each look the evidence is the ratio of what was seen under the second to that under the first. Above
`1 / REJECTION_ERROR` the change is guilty, below `LANDING_ERROR` it is innocent; between them more looks are needed.
By Ville's inequality the chance to reject an innocent change is at most `REJECTION_ERROR`, and the chance to let a
guilty one pass at most `LANDING_ERROR`, over the rates that the mixtures hold and however many looks are made.
"""

from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

REJECTION_ERROR = 1 / 800
"""The chance that a test which is as flaky as on the base blames the change. A suite has many tests: ten of them, of
which half of all runs show one red, add up to less than 1 %."""
LANDING_ERROR = 1 / 1000
"""The chance that a test passes for as good as on the base although the change makes it fail half the time."""
LEAST_RISE = 0.45
"""The smallest rise of a failure rate that is looked for. One from 0 to 3 % would take hundreds of looks."""
ODDS_AT_CAP = 10.0
"""Evidence of so much to one decides when no further look is allowed; with less nobody can say."""

_SAME_RATES = (
    *((0.0, 0.1), (0.01, 0.09), (0.02, 0.09), (0.05, 0.09), (0.1, 0.09), (0.15, 0.09)),
    *((0.2, 0.09), (0.3, 0.09), (0.4, 0.09), (0.5, 0.09), (0.65, 0.09)),
)
"""Failure rates that a test may have on both trees, each with its weight."""
_RATES_BEFORE = (
    *((0.0, 0.4), (0.02, 0.6 / 7), (0.05, 0.6 / 7), (0.1, 0.6 / 7), (0.2, 0.6 / 7)),
    *((0.3, 0.6 / 7), (0.4, 0.6 / 7), (0.5, 0.6 / 7)),
)
_RATES_AFTER = ((1.0, 0.5), (0.9, 0.125), (0.7, 0.125), (0.5, 0.25))


class LookCounts(NamedTuple):
    """The number of looks at one test on one tree: how often it was red, of how many runs."""

    red: int = 0
    total: int = 0

    def add_look(self, *, is_red: bool) -> "LookCounts":
        """Return the counts with one look more."""
        return LookCounts(self.red + is_red, self.total + 1)

    @property
    def is_always_red(self) -> bool:
        """True if there was no look at which the test was not red."""
        return self.red == self.total > 0

    def measure_likelihood(self, rate: float) -> float:
        """Return the probability of these looks in their order, if the test fails at this rate."""
        return rate**self.red * (1 - rate) ** (self.total - self.red)


NO_LOOKS = LookCounts()


class FlakeDecision(StrEnum):
    """The decision that the looks so far allow on a change, by one test."""

    INNOCENT = "innocent"
    GUILTY = "guilty"
    UNDECIDED = "undecided"


def _list_raised_rates() -> tuple[tuple[float, float, float], ...]:
    """Return pairs of a rate before and a rate after that is materially higher, with weights that add up to one."""
    found = []
    for before, weight_before in _RATES_BEFORE:
        for after, weight_after in _RATES_AFTER:
            if after - before >= LEAST_RISE:
                found.append((before, after, weight_before * weight_after))
    total = sum(weight for _, _, weight in found)
    return tuple((before, after, weight / total) for before, after, weight in found)


_RAISED_RATES = _list_raised_rates()


@lru_cache(maxsize=65_536)
def weigh_evidence(candidate: LookCounts, base: LookCounts) -> float:
    """Return how much better a raised failure rate explains the looks than an equal one does; 1 says nothing."""
    raised, same = 0.0, 0.0
    for before, after, weight in _RAISED_RATES:
        raised += weight * base.measure_likelihood(before) * candidate.measure_likelihood(after)
    for rate, weight in _SAME_RATES:
        same += weight * base.measure_likelihood(rate) * candidate.measure_likelihood(rate)
    if not same:  # as improbable as floating point can tell
        return float("inf") if raised else 1.0
    return raised / same


def decide_by_looks(candidate: LookCounts, base: LookCounts) -> FlakeDecision:
    """Return the decision of the sequential test; the one at which it is reached first stands."""
    return _decide(weigh_evidence(candidate, base), 1 / REJECTION_ERROR, LANDING_ERROR)


def decide_at_cap(candidate: LookCounts, base: LookCounts) -> FlakeDecision:
    """Return the decision where there will be no further look."""
    return _decide(weigh_evidence(candidate, base), ODDS_AT_CAP, 1 / ODDS_AT_CAP)


def _decide(evidence: float, guilty_from: float, innocent_to: float) -> FlakeDecision:
    if evidence >= guilty_from:
        return FlakeDecision.GUILTY
    if evidence <= innocent_to:
        return FlakeDecision.INNOCENT
    return FlakeDecision.UNDECIDED

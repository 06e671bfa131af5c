"""Tests whose parameters are named otherwise in every run, by a time, a random number or an address.

No name of theirs can be found again, so that every change would seem to have lost them. Which ones they are the base
tells itself, by a second run: a change has no part in it. They are counted, and compared by how many end how.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping

from orchestrator.domain.judging.check import Outcomes, TestOutcome

_BEST_FIRST = (
    *(TestOutcome.PASSED, TestOutcome.XPASSED, TestOutcome.XFAILED),
    *(TestOutcome.SKIPPED, TestOutcome.ERROR, TestOutcome.FAILED),
)


def may_have_unstable_ids(missing: Collection[str], before: Outcomes, now: Outcomes) -> bool:
    """Whether a missing test has as many cases as before, so that a second run of the base could tell more."""
    old, new = _cases(before), _cases(now)
    return any(test in old and len(old[test]) == len(new.get(test, ())) for test in map(_test, missing))


def find_unstable_tests(one: Outcomes, other: Outcomes) -> frozenset[str]:
    """The tests that have as many cases in both runs of one tree, and not under the same names."""
    old, new = _cases(one), _cases(other)
    return frozenset(
        test for test, cases in old.items() if len(cases) == len(new.get(test, ())) and cases.keys() != new[test].keys()
    )


def number_unstable_cases(outcomes: Outcomes, tests: Collection[str]) -> dict[str, TestOutcome]:
    """The outcomes with the cases of these tests numbered, those that ended best first: `test_x[*1]`, `test_x[*2]`."""
    cases = _cases(outcomes)
    kept = {}
    for name, outcome in outcomes.items():
        if _test(name) not in tests:
            kept[name] = outcome
    for test in tests:
        ended = sorted(cases.get(test, {}).values(), key=_BEST_FIRST.index)
        kept |= {f"{test}[*{number}]": outcome for number, outcome in enumerate(ended, start=1)}
    return kept


def _cases(outcomes: Outcomes) -> Mapping[str, Mapping[str, TestOutcome]]:
    """The cases of every test that has parameters, by the test's name without them."""
    found: defaultdict[str, dict[str, TestOutcome]] = defaultdict(dict)
    for name, outcome in outcomes.items():
        if test := _test(name):
            found[test][name] = outcome
    return found


def _test(name: str) -> str:
    """The name of a test without its parameters; empty if it has none."""
    test, bracket, _ = name.partition("[")
    if bracket:
        return test
    return ""

"""Tests whose parameters are named otherwise in every run, by a time, a random number or an address.

No name of theirs can be found again, so that every change would seem to have lost them. Which ones they are the base
tells itself, by a second run: a change has no part in it. They are counted, and compared by how many end how.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping

from orchestrator.domain.judging.check import Outcomes, TestOutcome
from orchestrator.judge.reports.parsed_report import WORST_FIRST


def may_have_unstable_ids(missing: Collection[str], before: Outcomes, now: Outcomes) -> bool:
    """Return True if a missing test has as many cases as before: a second run of the base could tell more."""
    old, new = _group_cases(before), _group_cases(now)
    return any(test in old and len(old[test]) == len(new.get(test, ())) for test in map(_get_test_name, missing))


def find_unstable_tests(one: Outcomes, other: Outcomes) -> frozenset[str]:
    """Return the tests that have as many cases in both runs of one tree, and not under the same names."""
    new = _group_cases(other)
    unstable = set()
    for test, cases in _group_cases(one).items():
        others = new.get(test, {})
        if len(cases) == len(others) and cases.keys() != others.keys():
            unstable.add(test)
    return frozenset(unstable)


def number_unstable_cases(outcomes: Outcomes, tests: Collection[str]) -> dict[str, TestOutcome]:
    """Return the outcomes with the cases of these tests numbered, best first: `test_x[*1]`, `test_x[*2]`."""
    cases = _group_cases(outcomes)
    kept = {name: outcome for name, outcome in outcomes.items() if _get_test_name(name) not in tests}
    for test in tests:
        ended = sorted(cases.get(test, {}).values(), key=WORST_FIRST.index, reverse=True)
        for number, outcome in enumerate(ended, start=1):
            kept[f"{test}[*{number}]"] = outcome
    return kept


def _group_cases(outcomes: Outcomes) -> Mapping[str, Mapping[str, TestOutcome]]:
    """Return the cases of every test that has parameters, by the test's name without them."""
    found: defaultdict[str, dict[str, TestOutcome]] = defaultdict(dict)
    for name, outcome in outcomes.items():
        if test := _get_test_name(name):
            found[test][name] = outcome
    return found


def _get_test_name(name: str) -> str:
    """Return the name of a test without its parameters; empty if it has none."""
    test, bracket, _ = name.partition("[")
    return test if bracket else ""

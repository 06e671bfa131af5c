"""Tests that have other ids than on the base and are no others: moved ones, and ones that are named anew in each run.

A test that the plan lets move stands in another file under the same name, and ends no worse than it did.

Others have parameters that are named otherwise in every run, by a time, a random number or an address. No name of
theirs can be found again, so that every change would seem to have lost them. Which ones they are the base tells
itself, by a second run: a change has no part in it. They are counted, and compared by how many end how.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping

from orchestrator.domain.judging.check import PASSED_OUTCOMES, Difference, Outcomes, TestOutcome
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


def exclude_moved_tests(
    difference: Difference, baseline: Outcomes, outcomes: Outcomes, is_granted: Callable[[str], bool]
) -> Difference:
    """Return the difference without the missing tests that were moved.

    Args:
        difference: of `outcomes` to `baseline`.
        baseline: what the tests did on the base.
        outcomes: what they do now.
        is_granted: whether the plan lets a file change. A test of another file cannot have been moved.
    """
    new = {test: outcome for test, outcome in outcomes.items() if test not in baseline}
    missing = []
    for test in difference.missing_tests:
        moved = next(_find_new_places(test, baseline[test], new, is_granted), None)
        if moved is None:
            missing.append(test)
        else:
            del new[moved]  # or one new test would stand for many old ones
    return difference.model_copy(update={"missing_tests": tuple(missing)})


def _find_new_places(test: str, before: TestOutcome, new: Outcomes, is_granted: Callable[[str], bool]) -> Iterator[str]:
    """Yield the new tests that may be a missing one of a granted file."""
    for name in _list_names_in_files(test, is_granted):
        for other, outcome in new.items():
            if other.endswith(name) and outcome in {*PASSED_OUTCOMES, before}:
                yield other


def _list_names_in_files(test: str, is_granted: Callable[[str], bool]) -> Iterator[str]:
    """Yield a test's name within each granted file it may be of: `.TestMoney::test_add`, without the module."""
    place, _, _ = test.partition("::")
    parts = place.split(".")
    for count in range(len(parts), 0, -1):
        if is_granted("/".join(parts[:count]) + ".py"):
            yield test.removeprefix(".".join(parts[:count]))

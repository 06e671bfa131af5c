"""Tests that have other ids than on the base and are no others: moved ones, and ones that are named anew in each run.

A test of the base is the same one under another id if a function says now what it said (`judge.evolution`): in another
file or class, under another name, as one of many cases. What the syntax cannot tell, the plan may let move: then it
stands in another file under the same name, and ends no worse than it did.

Others have parameters that are named otherwise in every run, by a time, a random number or an address. No name of
theirs can be found again, so that every change would seem to have lost them. Which ones they are the base tells
itself, by a second run: a change has no part in it. They are counted, and compared by how many end how.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from orchestrator.domain.judging.check import PASSED_OUTCOMES, Difference, Outcomes, TestOutcome
from orchestrator.domain.run.grant import GrantIntent
from orchestrator.judge.evolution.fates import TestFate
from orchestrator.judge.evolution.test_evolution import TestEvolution
from orchestrator.judge.evolution.test_ids import TestIdIndex
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


def exclude_evolved_tests(
    difference: Difference, baseline: Outcomes, outcomes: Outcomes, evolution: TestEvolution
) -> Difference:
    """Return the difference without what became of tests as it may.

    A test is not missing if others say now what it said and end no worse, one for one, or if it may be gone. It may be
    skipped where that is granted.

    Args:
        difference: of `outcomes` to `baseline`.
        baseline: what the tests did on the base.
        outcomes: what they do now.
        evolution: what became of the tests of the files that differ, and what may.
    """
    missing, skipped = list(difference.missing_tests), list(difference.newly_skipped)
    lost, known = TestIdIndex([*missing, *skipped], baseline), TestIdIndex(outcomes, baseline)
    free = {test: outcome for test, outcome in outcomes.items() if test not in baseline}
    traced = set[str]()
    for fate in evolution.fates:
        own = evolution.find_ids(fate.old, lost)
        traced.update(own)
        if not own or not evolution.allows_fate(fate):
            continue
        if fate.needs == GrantIntent.QUARANTINE:
            skipped = [test for test in skipped if test not in own]
        new = []
        for successor in fate.successors:
            new += [test for test in evolution.find_ids(successor, known) if test in free]
        allowed = _list_allowed_outcomes(fate)
        may_be_gone = bool(fate.removed_name) or evolution.may_remove(fate)
        for test in own:
            if test in missing and (may_be_gone or _take_place(baseline[test], new, free, allowed)):
                missing.remove(test)
    rest = []
    for test in missing:
        is_excused = test not in traced and _is_excused_without_source(test, baseline, outcomes, free, evolution)
        if not is_excused:
            rest.append(test)
    return difference.model_copy(update={"missing_tests": tuple(rest), "newly_skipped": tuple(skipped)})


def _is_excused_without_source(
    test: str, baseline: Outcomes, outcomes: Outcomes, free: dict[str, TestOutcome], evolution: TestEvolution
) -> bool:
    """Return True if a missing test of which no source was read may be gone, or another one stands for it."""
    if _has_renamed_cases(test, baseline, outcomes) or evolution.may_lose(test):
        return True
    if GrantIntent.REMOVE in evolution.unread_intents:
        return True
    return bool(evolution.unread_intents) and _take_place(baseline[test], list(free), free, ())


def _list_allowed_outcomes(fate: TestFate) -> tuple[TestOutcome, ...]:
    """Return the outcomes besides passing that a grant lets the successors of a test have."""
    return (TestOutcome.SKIPPED, TestOutcome.XFAILED) if fate.needs == GrantIntent.QUARANTINE else ()


def _take_place(
    before: TestOutcome, new: Sequence[str], free: dict[str, TestOutcome], allowed: Collection[TestOutcome]
) -> bool:
    """Return True if a new test ends no worse than an old one; it stands for no other then."""
    for test in new:
        if free.get(test) in {*PASSED_OUTCOMES, before, *allowed}:
            del free[test]
            return True
    return False


def _has_renamed_cases(test: str, baseline: Outcomes, outcomes: Outcomes) -> bool:
    """Return True if a test with parameters has as many cases as before, ending no worse, in a file that is the same.

    Its parameters are made by code then: no source says which case is which.
    """
    name = _get_test_name(test)
    before, now = _select_cases(name, baseline), _select_cases(name, outcomes)
    return bool(now) and len(now) >= len(before) and _count_passed(now) >= _count_passed(before)


def _select_cases(name: str, outcomes: Outcomes) -> list[TestOutcome]:
    if not name:
        return []
    return [outcome for test, outcome in outcomes.items() if _get_test_name(test) == name]


def _count_passed(outcomes: Iterable[TestOutcome]) -> int:
    return sum(outcome in PASSED_OUTCOMES for outcome in outcomes)


def find_excused_tests(
    tests: Iterable[str], evolution: TestEvolution, base_tests: Iterable[str] = ()
) -> frozenset[str]:
    """Return those of some tests that a grant lets say something else, or that went with their code.

    `base_tests` are all tests of the base, which tell what classes of other files inherit.
    """
    index, excused = TestIdIndex(tests, base_tests), set[str]()
    for fate in evolution.fates:
        if (fate.needs is not None and evolution.allows_fate(fate)) or fate.removed_name:
            excused.update(evolution.find_ids(fate.old, index))
    return frozenset(excused)


def exclude_lost_tests(difference: Difference, excused: Collection[str]) -> Difference:
    """Return the difference without what became of the tests that are excused."""
    changes = {}
    for name in ("new_failures", "missing_tests", "newly_skipped"):
        changes[name] = tuple(test for test in getattr(difference, name) if test not in excused)
    return difference.model_copy(update=changes)

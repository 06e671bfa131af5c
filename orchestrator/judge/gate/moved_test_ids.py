"""Tests that stand in another file now, as the plan lets them: under the same name, and no worse than they were."""

from collections.abc import Callable, Iterator

from orchestrator.domain.judging.check import PASSED_OUTCOMES, Difference, Outcomes, TestOutcome


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

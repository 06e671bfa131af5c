import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from orchestrator.domain.judging.check import Difference
from orchestrator.domain.judging.check import TestOutcome as Outcome
from orchestrator.judge.gate.difference import compare_outcomes

P, F, E, S, XF, XP = Outcome


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (P, P, {}),
        (F, F, {}),
        (F, E, {}),
        (E, F, {}),
        (P, F, {"new_failures": ("t",)}),
        (P, E, {"new_failures": ("t",)}),
        (S, F, {"new_failures": ("t",)}),
        (XF, F, {"new_failures": ("t",)}),
        (XP, F, {"new_failures": ("t",)}),
        (None, F, {"new_failures": ("t",)}),
        (None, P, {}),
        (None, S, {}),
        (P, S, {"newly_skipped": ("t",)}),
        (P, XF, {"newly_skipped": ("t",)}),
        (XP, S, {"newly_skipped": ("t",)}),
        (XP, XF, {}),
        (XF, XP, {}),
        (XF, P, {}),
        (S, P, {}),
        (P, XP, {}),
        (F, P, {"fixed": ("t",)}),
        (E, XP, {"fixed": ("t",)}),
        (F, S, {}),
        (F, XF, {}),
        (P, None, {"missing_tests": ("t",)}),
        (F, None, {"missing_tests": ("t",)}),
        (E, None, {"missing_tests": ("t",)}),
        (S, None, {"missing_tests": ("t",)}),
    ],
)
def test_one_test_before_and_after(before: Outcome | None, after: Outcome | None, lost: dict[str, object]) -> None:
    baseline = {"other": P} | ({"t": before} if before else {})
    outcomes = {"other": P} | ({"t": after} if after else {})
    assert compare_outcomes(baseline, 1, outcomes, 1) == Difference(**lost)


def test_only_a_fix_among_the_differences_is_green() -> None:
    assert compare_outcomes({"a": F, "b": P}, 1, {"a": P, "b": P}, 0).is_green


@pytest.mark.parametrize("vanished", ["(collection) m", "(set-up) setUpClass m.C", "(suite) s"])
def test_what_could_not_be_collected_may_go_but_not_come(vanished: str) -> None:
    assert compare_outcomes({vanished: E, "a": P}, 2, {"a": P, "m.t": P}, 0) == Difference()
    assert compare_outcomes({"a": P}, 0, {vanished: E, "a": P}, 2) == Difference(new_failures=(vanished,))


def test_everything_is_sorted() -> None:
    baseline = {"d": P, "c": P, "f": P, "e": P, "h": F, "g": F}
    outcomes = {"b": F, "a": F, "f": S, "e": S, "h": P, "g": P}
    assert compare_outcomes(baseline, 1, outcomes, 1) == Difference(
        new_failures=("a", "b"), missing_tests=("c", "d"), newly_skipped=("e", "f"), fixed=("g", "h")
    )


@pytest.mark.parametrize(
    ("before", "base_exit", "after", "exit_code"),
    [
        ({"a": P}, 0, {"a": P}, 0),
        ({"a": P}, 1, {"a": P}, 1),  # as bad as before: a threshold that the base does not reach either
        ({"a": F}, 1, {"a": P}, 1),  # behind the failure something else was red already
        ({"a": F, "b": P}, 1, {"a": F, "b": P}, 2),
        ({"a": F, "b": P}, 2, {"a": F, "b": P}, 0),
        ({"a": XF, "b": P}, 0, {"a": XP, "b": P}, 1),  # unittest fails on an unexpected success
    ],
)
def test_an_exit_code_that_tests_or_the_base_explain_says_nothing(
    before: dict[str, Outcome], base_exit: int, after: dict[str, Outcome], exit_code: int
) -> None:
    assert compare_outcomes(before, base_exit, after, exit_code).is_green


@pytest.mark.parametrize(
    ("before", "base_exit", "after", "exit_code"),
    [
        ({"a": P}, 0, {"a": P}, 1),  # `tests && linter`: the linter is red now
        ({"a": P}, 0, {"a": P}, 127),
        ({"a": F}, 1, {"a": P}, 2),
        ({"a": F, "b": P}, 0, {"a": F, "b": P}, 1),  # `tests; linter`: the base exited with 0 in spite of `a`
        ({"a": XP, "b": P}, 0, {"a": XP, "b": P}, 1),
    ],
)
def test_an_exit_code_that_no_test_explains_is_red(
    before: dict[str, Outcome], base_exit: int, after: dict[str, Outcome], exit_code: int
) -> None:
    problem = f"exits with {exit_code} although no test explains it; the base exits with {base_exit}"
    assert compare_outcomes(before, base_exit, after, exit_code).problems == (problem,)


def test_tests_that_fail_newly_are_reason_enough_for_an_exit_code() -> None:
    assert compare_outcomes({"a": P}, 0, {"a": F}, 1) == Difference(new_failures=("a",))


@pytest.mark.parametrize(
    ("exit_code", "problem"),
    [
        (None, "did not exit by itself, so outcomes may be missing"),
        (139, "exit code 139 tells of a crash, so outcomes may be missing"),
        (-9, "exit code -9 tells of a crash, so outcomes may be missing"),
    ],
)
def test_a_crash_is_a_problem_whatever_the_outcomes(exit_code: int | None, problem: str) -> None:
    assert compare_outcomes({"a": P}, exit_code, {"a": P}, exit_code) == Difference(problems=(problem,))


def test_a_run_without_tests_is_never_green() -> None:
    assert compare_outcomes({}, 0, {}, 0) == Difference(problems=("ran no test",))
    assert compare_outcomes({"a": P}, 0, {}, 0) == Difference(missing_tests=("a",), problems=("ran no test",))


@pytest.mark.parametrize("outcomes", [{"a": S, "b": S}, {"(collection) m": E}, {"(collection) m": S}])
def test_a_run_in_which_no_test_ran_is_never_green(outcomes: dict[str, Outcome]) -> None:
    problem = "ran no test: all were skipped or could not be collected"
    assert compare_outcomes(outcomes, 0, outcomes, 0) == Difference(problems=(problem,))


def test_by_exit_code_only_zero_is_green() -> None:
    assert compare_outcomes(None, 0, None, 0) == Difference()
    assert compare_outcomes(None, 0, None, 1).problems == (
        "exits with 1; only 0 counts as green without outcomes of the base to compare with",
    )


def test_by_exit_code_zero_after_a_red_base_is_a_fix_and_everything_else_says_why_it_is_red() -> None:
    assert compare_outcomes(None, 3, None, 0) == Difference(fixed=("(exit code)",))
    assert compare_outcomes(None, 3, {"a": P}, 0) == Difference(fixed=("(exit code)",))
    assert compare_outcomes(None, 3, None, 3).problems == (
        "exits with 3; the gate was red on the base already and tells no tests, so only exit 0 counts",
    )
    assert not compare_outcomes(None, 3, {"a": P}, 1).is_green
    assert not compare_outcomes(None, 3, {"a": F}, 0).is_green


@pytest.mark.parametrize(("before", "after"), [(None, 0), (0, None), (1, 1), (1, None), (139, 139)])
def test_by_exit_code_nothing_else_is(before: int | None, after: int | None) -> None:
    difference = compare_outcomes(None, before, None, after)
    assert not difference.is_green
    assert difference.problems


def test_outcomes_that_ceased_are_a_problem() -> None:
    assert compare_outcomes({"a": P}, 0, None, 0) == Difference(
        problems=("told no outcome of any test; the base told 1",)
    )


def test_outcomes_that_began_count_after_a_green_base() -> None:
    assert compare_outcomes(None, 0, {"a": P, "b": S}, 0) == Difference()
    assert compare_outcomes(None, 0, {"a": F}, 0) == Difference(new_failures=("a",))
    assert not compare_outcomes(None, 0, {"a": P}, 1).is_green
    assert not compare_outcomes(None, 0, {}, 0).is_green


OUTCOMES = st.dictionaries(st.text("abc ", min_size=1, max_size=3), st.sampled_from(Outcome), min_size=1, max_size=8)
RUN = OUTCOMES.filter(lambda outcomes: any(outcome != S for outcome in outcomes.values()))
EXITS = st.integers(0, 127)


@settings(deadline=None)
@given(RUN, EXITS)
def test_equal_outcomes_are_green(outcomes: dict[str, Outcome], exit_code: int) -> None:
    assert compare_outcomes(outcomes, exit_code, outcomes, exit_code) == Difference()


@settings(deadline=None)
@given(RUN, RUN, st.sampled_from([F, E]), EXITS, st.data())
def test_a_green_test_made_red_is_never_green(
    baseline: dict[str, Outcome], outcomes: dict[str, Outcome], red: Outcome, exit_code: int, data: st.DataObject
) -> None:
    green = sorted(test for test, outcome in baseline.items() if not outcome.is_red)
    assume(green)
    test = data.draw(st.sampled_from(green))
    difference = compare_outcomes(baseline, 0, outcomes | {test: red}, exit_code)
    assert test in difference.new_failures
    assert not difference.is_green


@settings(deadline=None)
@given(RUN, RUN, EXITS, st.data())
def test_a_removed_test_is_never_green(
    baseline: dict[str, Outcome], outcomes: dict[str, Outcome], exit_code: int, data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from(sorted(baseline)))
    outcomes = {test: outcome for test, outcome in outcomes.items() if test != gone}
    difference = compare_outcomes(baseline, 0, outcomes, exit_code)
    assert gone in difference.missing_tests
    assert not difference.is_green


@settings(deadline=None)
@given(RUN, st.sets(st.text("abc ", min_size=1, max_size=3)), st.sampled_from([0, 1]))
def test_fixed_and_new_green_tests_never_make_it_red(
    baseline: dict[str, Outcome], new: set[str], exit_code: int
) -> None:
    mended = {test: P if outcome.is_red else outcome for test, outcome in baseline.items()}
    added = dict.fromkeys(new - baseline.keys(), P)
    difference = compare_outcomes(baseline, 1, mended | added, exit_code)
    assert difference.is_green
    assert set(difference.fixed) == {test for test, outcome in baseline.items() if outcome.is_red}


@settings(deadline=None)
@given(RUN, RUN, EXITS, st.randoms(use_true_random=False))
def test_the_order_of_tests_makes_no_difference(
    baseline: dict[str, Outcome], outcomes: dict[str, Outcome], exit_code: int, random: object
) -> None:
    def shuffled(tests: dict[str, Outcome]) -> dict[str, Outcome]:
        items = list(tests.items())
        random.shuffle(items)
        return dict(items)

    assert compare_outcomes(shuffled(baseline), 0, shuffled(outcomes), exit_code) == compare_outcomes(
        baseline, 0, outcomes, exit_code
    )

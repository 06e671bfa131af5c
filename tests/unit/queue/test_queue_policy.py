"""The queue's search: what it tries, what it accepts, whom it blames."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.ids import UnitId
from orchestrator.queue.bisection import HalvingSearch, HalvingTrial


def units(count: int) -> tuple[UnitId, ...]:
    return tuple(UnitId(f"u{number:03}") for number in range(count))


def search_all(count: int, is_red: object) -> tuple[HalvingSearch, list[HalvingTrial]]:
    """Run a search to its end against a gate that is a function of the units."""
    search, trials = HalvingSearch.begin_with(units(count)), []
    while trial := search.get_next_trial():
        trials.append(trial)
        search = search.apply_answer(not is_red(trial.units))  # type: ignore[operator]
    return search, trials


def test_a_green_union_is_accepted_in_one_trial() -> None:
    search, trials = search_all(34, lambda _: False)
    assert (search.accepted, len(trials)) == (units(34), 1)


def test_one_guilty_unit_is_found_and_everything_else_accepted() -> None:
    bad = UnitId("u013")
    search, trials = search_all(34, lambda tried: bad in tried)
    assert search.guilty == (bad,)
    assert set(search.accepted) == set(units(34)) - {bad}
    assert len({trial.units for trial in trials}) <= 12


def test_a_single_red_unit_is_tried_twice_before_it_is_blamed() -> None:
    _, trials = search_all(1, lambda _: True)
    assert [trial.fresh for trial in trials] == [False, True]


def test_a_unit_that_was_red_once_and_green_on_the_second_look_is_accepted() -> None:
    answers = iter([False, True])
    search = HalvingSearch.begin_with(units(1))
    while search.get_next_trial():
        search = search.apply_answer(next(answers))
    assert (search.accepted, search.guilty) == (units(1), ())


def test_no_unit_needs_no_trial() -> None:
    assert HalvingSearch.begin_with(()).get_next_trial() is None


def test_a_unit_that_cannot_be_composed_leaves_the_search() -> None:
    search = HalvingSearch.begin_with(units(3)).drop_unit(UnitId("u001"))
    assert search.get_next_trial() == HalvingTrial(
        units=(UnitId("u000"), UnitId("u002")), group=(UnitId("u000"), UnitId("u002"))
    )
    assert HalvingSearch.begin_with(units(1)).drop_unit(UnitId("u000")).get_next_trial() is None


@given(st.integers(1, 40), st.sets(st.integers(0, 39), max_size=6))
def test_exactly_the_guilty_are_blamed_and_every_accepted_union_was_green(count: int, bad: set[int]) -> None:
    guilty = {unit for number, unit in enumerate(units(count)) if number in bad}
    search, trials = search_all(count, lambda tried: bool(guilty & set(tried)))
    assert set(search.guilty) == guilty
    assert set(search.accepted) == set(units(count)) - guilty
    green = [trial.units for trial in trials if not guilty & set(trial.units)]
    assert not search.accepted or green[-1] == search.accepted, "what lands must itself have been tested"
    assert all(set(one) < set(other) for one, other in pairwise(green))


@given(st.integers(2, 30), st.sets(st.frozensets(st.integers(0, 29), min_size=1, max_size=3), max_size=4))
def test_what_is_accepted_is_green_also_when_units_only_fail_together(count: int, groups: set[frozenset[int]]) -> None:
    together = [{UnitId(f"u{number:03}") for number in group} for group in groups]

    def is_red(tried: tuple[UnitId, ...]) -> bool:
        return any(group <= set(tried) for group in together)

    search, _ = search_all(count, is_red)
    assert not is_red(search.accepted)
    assert set(search.accepted) | set(search.guilty) == set(units(count))
    assert all(is_red((*search.accepted, unit)) for unit in search.guilty), "nobody is blamed who could have landed"


def test_a_unit_that_was_red_for_want_of_a_later_one_is_accepted_with_it() -> None:
    """u000 needs u003, and u002, which is guilty, keeps them from being tried together at first."""
    first, _, bad, needed = units(4)
    search, _ = search_all(4, lambda tried: bad in tried or (first in tried and needed not in tried))
    assert (set(search.accepted), search.guilty) == (set(units(4)) - {bad}, (bad,))


@given(
    st.integers(2, 30),
    st.sets(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=5),
    st.sets(st.integers(0, 29), max_size=3),
)
def test_nobody_is_blamed_who_is_green_on_top_of_what_lands(
    count: int, needs: set[tuple[int, int]], bad: set[int]
) -> None:
    pairs = [(UnitId(f"u{one:03}"), UnitId(f"u{other:03}")) for one, other in needs]
    guilty = {UnitId(f"u{number:03}") for number in bad}

    def is_red(tried: tuple[UnitId, ...]) -> bool:
        return bool(guilty & set(tried)) or any(one in tried and other not in tried for one, other in pairs)

    search, _ = search_all(count, is_red)
    assert not search.accepted or not is_red(search.accepted)
    assert set(search.accepted) | set(search.guilty) == set(units(count))
    assert all(is_red((*search.accepted, unit)) for unit in search.guilty)


@given(st.integers(1, 40), st.sets(st.integers(0, 39), max_size=4), st.integers(0, 20))
def test_a_search_that_is_asked_again_makes_the_same_trials(count: int, bad: set[int], _cut: int) -> None:
    guilty = {unit for number, unit in enumerate(units(count)) if number in bad}

    def run() -> list[HalvingTrial]:
        return search_all(count, lambda tried: bool(guilty & set(tried)))[1]

    assert run() == run()

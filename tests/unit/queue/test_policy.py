"""The policy of trials at the same time: what lands, who is blamed, and what is tested meanwhile."""

import time
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.ids import UnitId
from orchestrator.queue.candidate_order import MOST_SKIPS, CandidateFacts, order_candidates
from orchestrator.queue.failure_rate import estimate_failure_rate
from orchestrator.queue.policy import QueueView, RunningTrial, count_window, plan_queue
from orchestrator.queue.trial_knowledge import TrialKnowledge, TrialVerdict
from orchestrator.queue.trial_sizes import choose_chunk_size, choose_prefix_sizes, choose_split_size
from tests.unit.queue.queue_world import World

MemoryStep = tuple[frozenset[int], bool, bool, bool]
GREEN, RED = TrialVerdict(is_green=True), TrialVerdict(is_green=False)


def name_units(count: int) -> tuple[UnitId, ...]:
    return tuple(UnitId(f"u{number:03}") for number in range(count))


def pick(count: int, numbers: set[int]) -> frozenset[UnitId]:
    return frozenset(unit for number, unit in enumerate(name_units(count)) if number in numbers)


numbers = st.sets(st.integers(0, 59), max_size=12)
pairs = st.lists(st.frozensets(st.integers(0, 59), min_size=2, max_size=3), max_size=4)


@given(st.integers(1, 60), numbers, pairs, st.integers(1, 16), st.booleans(), st.integers(0, 9))
@settings(deadline=None)
def test_every_candidate_lands_once_or_is_rejected_and_no_innocent_is(
    count: int, red: set[int], groups: list[frozenset[int]], slots: int, at_once: bool, seed: int
) -> None:
    together = tuple(pick(count, set(group)) for group in groups if max(group) < count)
    world = World(list(name_units(count)), pick(count, red), together, slots=slots, seed=seed).run(at_once=at_once)
    assert sorted(world.landed + world.rejected) == sorted(name_units(count))
    assert not world.red.intersection(world.landed)
    assert world.red.issubset(world.rejected)
    assert world.most_running <= slots


@given(st.integers(1, 60), numbers, st.integers(1, 16), st.booleans())
@settings(deadline=None)
def test_without_flakes_and_pairs_exactly_the_red_are_rejected(
    count: int, red: set[int], slots: int, at_once: bool
) -> None:
    world = World(list(name_units(count)), pick(count, red), slots=slots).run(at_once=at_once)
    assert set(world.rejected) == world.red


@given(st.integers(1, 60), numbers, numbers, st.integers(1, 16), st.booleans(), st.integers(0, 99))
@settings(deadline=None)
def test_flakes_cost_runs_but_never_a_candidate_that_is_not_flaky_itself(
    count: int, red: set[int], flaky: set[int], slots: int, at_once: bool, seed: int
) -> None:
    units, shaky = list(name_units(count)), pick(count, flaky)
    world = World(units, pick(count, red), flaky=shaky, flake_rate=0.05, slots=slots, seed=seed).run(at_once=at_once)
    assert sorted(world.landed + world.rejected) == sorted(name_units(count))
    assert world.red.issubset(world.rejected)
    assert shaky.issuperset(world.wrongly)


def read_memory(chain: tuple[UnitId, ...], steps: Sequence[MemoryStep]) -> TrialKnowledge:
    """Return what trials of any unions would have told, in any order and also against each other."""
    knowledge = TrialKnowledge()
    for picked, is_green, is_settled, is_screen in steps:
        units = tuple(unit for number, unit in enumerate(chain) if number in picked)
        if not units:
            continue
        if is_screen:
            knowledge = knowledge.add_screen(units, is_green=is_green)
        else:
            knowledge = knowledge.add_verdict(units, TrialVerdict(is_green=is_green, is_settled=is_settled))
    return knowledge


memory_steps = st.lists(st.tuples(st.frozensets(st.integers(0, 5)), st.booleans(), st.booleans(), st.booleans()))


@given(st.integers(1, 6), memory_steps, st.integers(1, 6), st.integers(1, 8), st.floats(0.001, 0.9))
@settings(deadline=None, max_examples=300)
def test_whatever_trials_have_told_there_is_a_next_step(
    count: int, steps: list[MemoryStep], left: int, slots: int, rate: float
) -> None:
    chain = name_units(count)
    plan = plan_queue(QueueView(chain[-left:], read_memory(chain, steps), slots, rate))
    assert plan.landed or plan.guilty or plan.wanted


def test_all_slots_are_used_by_unions_that_share_no_doubtful_unit() -> None:
    chain = name_units(100)
    plan = plan_queue(QueueView(chain, TrialKnowledge(), 4, 0.1))
    assert [len(trial.units) for trial in plan.wanted] == [7, 7, 7, 7]
    assert len({unit for trial in plan.wanted for unit in trial.units}) == 28


def test_a_short_queue_is_tested_as_a_whole_and_by_prefixes() -> None:
    chain = name_units(3)
    plan = plan_queue(QueueView(chain, TrialKnowledge(), 4, 0.1))
    assert plan.wanted[0].units == chain
    assert chain[:1] in [trial.units for trial in plan.wanted]


def test_a_green_union_lands_at_once_and_longer_ones_go_on() -> None:
    chain = name_units(4)
    knowledge = TrialKnowledge().add_verdict(chain[:2], GREEN)
    plan = plan_queue(QueueView(chain, knowledge, 2, 0.1, [RunningTrial(chain)]))
    assert (plan.landed, plan.moot) == (chain[:2], ())
    assert knowledge.add_verdict(chain, RED).move_tip(chain[:2]).verdicts == {chain[2:]: RED}


def test_a_trial_that_holds_a_red_part_is_moot() -> None:
    chain = name_units(4)
    running = RunningTrial(chain)
    knowledge = TrialKnowledge().add_verdict(chain[:2], RED)
    assert plan_queue(QueueView(chain, knowledge, 2, 0.1, [running])).moot == (running,)


def test_a_unit_is_blamed_when_it_was_red_twice() -> None:
    chain = name_units(3)
    once = TrialKnowledge().add_verdict(chain[:1], TrialVerdict(is_green=False, is_settled=False))
    plan = plan_queue(QueueView(chain, once, 2, 0.1))
    assert (plan.guilty, plan.wanted[0].units, plan.wanted[0].is_fresh) == (None, chain[:1], True)
    assert plan_queue(QueueView(chain, once.add_verdict(chain[:1], RED), 2, 0.1)).guilty == chain[0]


def test_a_unit_left_over_of_a_red_union_is_blamed_when_it_is_red_alone() -> None:
    chain = name_units(2)
    left_over = TrialKnowledge().add_verdict(chain, RED).add_verdict(chain[:1], GREEN).move_tip(chain[:1])
    assert plan_queue(QueueView(chain[1:], left_over, 2, 0.1)).wanted[0].is_fresh
    twice = left_over.add_verdict(chain[1:], RED)
    assert plan_queue(QueueView(chain[1:], twice, 2, 0.1)).guilty == chain[1]


def test_what_a_landing_leaves_of_a_red_union_is_still_red_and_others_are_tested_beside_it() -> None:
    chain = name_units(20)
    knowledge = TrialKnowledge().add_verdict(chain[4:8], RED).move_tip(chain[4:6])
    rest = tuple(unit for unit in chain if unit not in chain[4:6])
    assert knowledge.list_red_sets(frozenset(rest)) == [frozenset(chain[6:8])]
    plan = plan_queue(QueueView(rest, knowledge, 3, 0.2))
    assert chain[6:7] in [trial.units for trial in plan.wanted]
    assert len(plan.wanted) == 3


def test_a_union_that_names_tests_is_searched_before_it_is_split() -> None:
    chain = name_units(6)
    knowledge = TrialKnowledge().add_verdict(chain, TrialVerdict(is_green=False, can_search=True))
    plan = plan_queue(QueueView(chain, knowledge, 1, 0.1))
    assert [(trial.units, trial.is_search) for trial in plan.wanted] == [(chain, True)]


def test_dependencies_wait_and_whoever_was_passed_over_three_times_goes_first() -> None:
    first, second, third, fourth = name_units(4)
    facts = [
        CandidateFacts(first, needs=frozenset({second})),
        CandidateFacts(second, pass_rate=0.5, age=1),
        CandidateFacts(third, pass_rate=0.9, age=2),
        CandidateFacts(fourth, pass_rate=0.1, age=3, skips=MOST_SKIPS),
    ]
    assert order_candidates(facts) == (fourth, third, second)


@given(st.integers(1, 200), st.integers(1, 16), st.floats(0.001, 0.9))
def test_sizes_are_within_what_there_is(units: int, slots: int, rate: float) -> None:
    prefixes = choose_prefix_sizes(rate, slots, units)
    assert prefixes == sorted(set(prefixes))
    assert 1 <= prefixes[0] <= prefixes[-1] <= units
    assert len(prefixes) <= slots
    assert 1 <= choose_split_size(rate, units) <= max(1, units - 1)
    assert choose_chunk_size(rate) >= 1


def test_the_rate_begins_at_one_in_twenty_and_follows_the_latest_verdicts_and_red_groups() -> None:
    assert estimate_failure_rate([]) == 0.05
    assert estimate_failure_rate([True] * 50 + [False] * 100) < 0.01
    assert estimate_failure_rate([], red_groups=[7] * 16) > 0.2


def test_a_plan_for_four_hundred_candidates_on_sixteen_slots_takes_milliseconds() -> None:
    chain, knowledge = name_units(400), TrialKnowledge()
    for start in range(0, 400, 10):
        knowledge = knowledge.add_verdict(chain[start : start + 10], GREEN if start % 20 else RED)
    knowledge = knowledge.move_tip(chain[10:20])
    rest = tuple(unit for unit in chain if unit not in chain[10:20])
    begun, count = time.process_time(), 10
    for _ in range(count):
        count_window(rest, knowledge, 16, 0.05)
        plan_queue(QueueView(rest, knowledge, 16, 0.05))
    assert (time.process_time() - begun) / count < 0.05

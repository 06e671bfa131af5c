"""Which changes are innocent of a flaky test: the plan of looks against simulated suites, and its rules one by one."""

import random
from collections import Counter

import pytest

from orchestrator.domain.judging.check import TestOutcome as Outcome
from orchestrator.judge.gate.flake_statistics import FlakeDecision, LookCounts, decide_by_looks, weigh_evidence
from orchestrator.judge.gate.look_plan import Look, NextLook, choose_next_look, judge_test
from tests.running.flaky_candidates import build_suite

P, F = Outcome.PASSED, Outcome.FAILED


def count_ends(cases: list[tuple[int, float, float | None]], seed: str) -> Counter[str]:
    """Judge a candidate for each case: how many tests are flaky, how often they fail, how often the broken one does."""
    ends = Counter[str]()
    for number, (tests, rate, broken) in enumerate(cases):
        ends[build_suite(random.Random(f"{seed} {number}"), tests, rate, broken).judge()] += 1
    return ends


def draw_suites(seed: str, count: int, *, most_red: float) -> list[tuple[int, float]]:
    """Draw suites of one to ten tests that fail in 1 to 50 % of runs; `most_red` of all runs have a red test."""
    chance, found = random.Random(seed), list[tuple[int, float]]()
    while len(found) < count:
        tests, rate = chance.randint(1, 10), chance.choice((0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5))
        if 1 - (1 - rate) ** tests <= most_red:
            found.append((tests, rate))
    return found


def test_of_a_thousand_innocents_at_most_one_in_a_hundred_is_rejected() -> None:
    ends = count_ends([(*suite, None) for suite in draw_suites("innocent", 1000, most_red=0.5)], "innocent")
    assert ends["rejected"] <= 5
    assert ends["landed"] >= 985, ends


def test_of_changes_that_break_a_test_for_good_none_lands_in_whatever_suite() -> None:
    ends = count_ends([(*suite, 1.0) for suite in draw_suites("broken", 500, most_red=1.0)], "broken")
    assert ends == {"rejected": 500}


def test_of_changes_that_make_a_test_fail_half_the_time_at_most_one_in_two_hundred_lands() -> None:
    ends = count_ends([(*suite, 0.5) for suite in draw_suites("half", 400, most_red=1.0)], "half")
    assert ends["landed"] <= 2, ends


@pytest.mark.parametrize(
    ("here", "base", "decision"),
    [
        ((1, 1), (0, 1), FlakeDecision.UNDECIDED),
        ((2, 2), (0, 2), FlakeDecision.UNDECIDED),
        ((5, 5), (0, 5), FlakeDecision.GUILTY),
        ((8, 16), (0, 16), FlakeDecision.GUILTY),
        ((1, 20), (0, 20), FlakeDecision.INNOCENT),
        ((10, 20), (10, 20), FlakeDecision.INNOCENT),
        ((12, 12), (6, 12), FlakeDecision.UNDECIDED),
        ((18, 18), (9, 18), FlakeDecision.GUILTY),
    ],
)
def test_rates_are_compared_with_the_base(
    here: tuple[int, int], base: tuple[int, int], decision: FlakeDecision
) -> None:
    assert decide_by_looks(LookCounts(*here), LookCounts(*base)) == decision


def test_evidence_grows_with_each_red_look_and_shrinks_with_each_other() -> None:
    base = LookCounts(0, 10)
    weights = [weigh_evidence(LookCounts(red, 6), base) for red in range(7)]
    assert weights == sorted(weights)
    assert weigh_evidence(LookCounts(1, 30), base) < 0.01


def look(outcome: Outcome, *, is_base: bool = False, is_whole: bool = True) -> Look:
    return Look({"t": outcome, "other": P}, is_base, is_whole)


def test_after_a_red_look_the_whole_tree_is_run_once_more_then_base_and_tree_by_turns_and_narrow() -> None:
    looks, plans = [look(P, is_base=True), look(F)], list[NextLook | None]()
    for _ in range(4):
        plan = choose_next_look([judge_test("t", looks)], cap=40)
        assert plan is not None
        plans.append(plan)
        looks.append(look(P if plan.is_base else F, is_base=plan.is_base, is_whole=plan.is_whole))
    assert plans == [
        NextLook(is_base=False, is_whole=True, tests=("t",)),
        NextLook(is_base=True, is_whole=False, tests=("t",)),
        NextLook(is_base=False, is_whole=False, tests=("t",)),
        NextLook(is_base=True, is_whole=False, tests=("t",)),
    ]


def test_what_is_red_in_company_only_is_judged_by_whole_looks() -> None:
    alone = [look(P, is_whole=False) for _ in range(30)]
    judged = judge_test("t", [look(P, is_base=True), look(F), look(F), *alone])
    assert (judged.decision, judged.candidate, judged.only_whole) == (FlakeDecision.UNDECIDED, (2, 2), True)
    whole = [look(P, is_base=True), look(F)] * 3
    assert judge_test("t", [look(P, is_base=True), look(F), look(F), *alone, *whole]).is_guilty


def test_a_test_that_the_base_does_not_have_is_held_against_one_that_is_never_red() -> None:
    assert judge_test("t", [look(F)] * 5).is_guilty
    assert judge_test("t", [look(F), *[look(P)] * 20]).decision == FlakeDecision.INNOCENT


def test_a_decision_once_reached_stands_whatever_later_looks_show() -> None:
    acquitted = [look(P, is_base=True), look(F), *[look(P)] * 20]
    assert judge_test("t", [*acquitted, *[look(F)] * 40]).decision == FlakeDecision.INNOCENT


def test_at_the_cap_it_stays_open_what_a_few_looks_cannot_tell() -> None:
    open_case = judge_test("t", [look(P, is_base=True), look(F), look(F)])
    assert choose_next_look([open_case], cap=0) is None
    assert open_case.decide_finally().is_guilty, "ten to one is enough where nobody may look again"
    assert judge_test("t", [look(P, is_base=True), look(F), look(P)]).decide_finally().is_undecided

"""Candidates in suites with flaky tests, drawn with a seed and judged by the plan of looks that the gate goes by."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.judging.check import TestOutcome as Outcome
from orchestrator.judge.gate.look_plan import JudgedTest, Look, TestHistory, choose_next_look
from orchestrator.judge.repeats.runner import ROUNDS

CAP = 40


@dataclass
class SimulatedSuite:
    """A suite on its base and with a change: test → how often it fails. `looks` grows with each run."""

    base: Mapping[str, float]
    candidate: Mapping[str, float]
    chance: random.Random
    looks: list[Look] = field(default_factory=list)
    _histories: dict[str, TestHistory] = field(default_factory=dict)
    _red: set[str] = field(default_factory=set)

    def run(self, tests: Iterable[str], *, is_base: bool, is_whole: bool) -> None:
        """Run tests on one of the two trees."""
        rates = self.base if is_base else self.candidate
        outcomes = {}
        for test in tests:
            outcomes[test] = Outcome.FAILED if self.chance.random() < rates[test] else Outcome.PASSED
        look = Look(outcomes, is_base, is_whole)
        self.looks.append(look)
        for history in self._histories.values():
            history.add_look(look)
        if not is_base:
            self._red.update(test for test, outcome in outcomes.items() if outcome.is_red)

    def judge(self, cap: int = CAP) -> str:
        """Return how the change ends: landed, rejected or unsettled."""
        self.run(self.base, is_base=True, is_whole=True)
        self.run(self.candidate, is_base=False, is_whole=True)
        if self.decide_end(cap) == "landed":
            self._red |= self._repeat(self.candidate) - self._repeat(self.base)
        return self.decide_end(cap)

    def _repeat(self, rates: Mapping[str, float]) -> set[str]:
        """Return the tests that are red in one of the rounds of a repeat run."""
        red = set[str]()
        for test, rate in rates.items():
            if any(self.chance.random() < rate for _ in range(ROUNDS)):
                red.add(test)
        return red

    def decide_end(self, cap: int) -> str:
        """Look until it is clear how the change ends."""
        while True:
            judged = self._judge_red_tests()
            plan = choose_next_look(judged, cap)
            if plan is None:
                return _name_end(judged)
            tests = self.candidate if plan.is_whole else plan.tests
            self.run(tests, is_base=plan.is_base, is_whole=plan.is_whole)

    def _judge_red_tests(self) -> list[JudgedTest]:
        """Return the tests that were red on the candidate; what was red in every look at the base may be so."""
        for test in self._red - self._histories.keys():
            self._histories[test] = TestHistory(test)
            for look in self.looks:
                self._histories[test].add_look(look)
        judged = []
        for test in sorted(self._red):
            found = self._histories[test].judge_looks()
            if not found.base.is_always_red:
                judged.append(found)
        return judged

    def count_looks(self, *, at_base: bool) -> int:
        """Return how many runs a tree got beyond the first."""
        return sum(look.is_base == at_base for look in self.looks) - 1


def _name_end(judged: Sequence[JudgedTest]) -> str:
    final = judged if any(test.is_guilty for test in judged) else [test.decide_finally() for test in judged]
    if any(test.is_guilty for test in final):
        return "rejected"
    return "unsettled" if any(test.is_undecided for test in final) else "landed"


def build_suite(chance: random.Random, tests: int, rate: float, broken: float | None = None) -> SimulatedSuite:
    """Return a suite of flaky tests that all fail at a rate, and one that is steady; `broken` is its rate then."""
    base = {f"flaky_{number}": rate for number in range(tests)} | {"steady": 0.0}
    candidate = base if broken is None else base | {"steady": broken}
    return SimulatedSuite(base, candidate, chance)

"""A world of candidates for the queue's policy: who is red, alone or together; time passes in rounds of trials."""

import random
from collections import Counter
from dataclasses import dataclass, field

from orchestrator.domain.ids import UnitId
from orchestrator.queue.bisection import Units
from orchestrator.queue.failure_rate import estimate_failure_rate
from orchestrator.queue.policy import QueueView, RunningTrial, WantedTrial, count_window, plan_queue
from orchestrator.queue.trial_knowledge import TrialKnowledge, TrialVerdict


@dataclass
class World:
    """Candidates; `red` fail alone, `together` are sets that fail only together, `flaky` now and then."""

    queue: list[UnitId]
    red: frozenset[UnitId]
    together: tuple[frozenset[UnitId], ...] = ()
    flaky: frozenset[UnitId] = frozenset()
    flake_rate: float = 0.0
    slots: int = 2
    seed: int = 0
    landed: list[UnitId] = field(default_factory=list)
    rejected: list[UnitId] = field(default_factory=list)
    wrongly: list[UnitId] = field(default_factory=list)
    tested_green: set[tuple[UnitId, ...]] = field(default_factory=set)
    steps: int = 0
    most_running: int = 0
    runs: Counter[Units] = field(default_factory=Counter)

    def is_red(self, units: Units) -> bool:
        tree = {*self.landed, *units}
        return bool(self.red & tree) or any(group <= tree for group in self.together)

    def run(self, *, at_once: bool = True) -> "World":
        """Run until the queue is empty; trials end all at once, or one by one in random order."""
        chance = random.Random(self.seed)
        knowledge, failures = TrialKnowledge(), list[bool]()
        running: list[tuple[RunningTrial, WantedTrial, bool]] = []
        while self.queue:
            self.steps += 1
            assert self.steps < 1_500, "the policy goes round in circles"
            groups = [len(red) for red in knowledge.list_red_sets(frozenset(self.queue)) if len(red) > 1]
            rate = estimate_failure_rate(failures, red_groups=groups)
            chain = tuple(self.queue[: count_window(self.queue, knowledge, self.slots, rate)])
            plan = plan_queue(QueueView(chain, knowledge, self.slots, rate, [one for one, _, _ in running]))
            running = [one for one in running if one[0] not in plan.moot]
            if plan.guilty is not None:
                self._reject(plan.guilty)
                failures.append(True)
                knowledge = knowledge.drop_unit(plan.guilty)
                continue
            if plan.landed:
                self._land(plan.landed)
                failures += [False] * len(plan.landed)
                knowledge = knowledge.move_tip(plan.landed)
                running = [(shorten(one, plan.landed), wanted, green) for one, wanted, green in running]
                running = [one for one in running if one[0].units]
                continue
            for wanted in plan.wanted:
                green = not self.is_red(wanted.units)
                for _ in self.flaky.intersection(wanted.units):
                    green = green and chance.random() >= self.flake_rate
                self.runs[wanted.units] += 1
                running.append((RunningTrial(wanted.units), wanted, green))
                if green:
                    self.tested_green.add((*self.landed, *wanted.units))
            self.most_running = max(self.most_running, len(running))
            assert running, "nothing is under way, and nothing is wanted"
            ended = running if at_once else [running[chance.randrange(len(running))]]
            running = [one for one in running if one not in ended]
            for trial, wanted, green in ended:
                if trial.is_exact:
                    is_settled = green or wanted.is_fresh or len(trial.units) > 1
                    knowledge = knowledge.add_verdict(trial.units, TrialVerdict(green, is_settled=is_settled))
                else:
                    knowledge = knowledge.add_screen(trial.units, is_green=green)
        return self

    def _land(self, units: Units) -> None:
        self.landed += units
        assert tuple(self.landed) in self.tested_green, "what lands was tested as it lands"
        self.queue = [unit for unit in self.queue if unit not in units]

    def _reject(self, unit: UnitId) -> None:
        self.queue.remove(unit)
        self.rejected.append(unit)
        if not self.is_red((unit,)):
            self.wrongly.append(unit)


def shorten(trial: RunningTrial, landed: Units) -> RunningTrial:
    is_exact = trial.is_exact and trial.units[: len(landed)] == landed
    return RunningTrial(tuple(unit for unit in trial.units if unit not in landed), is_exact, trial.is_search)

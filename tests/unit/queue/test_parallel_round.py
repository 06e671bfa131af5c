"""Rounds with trials at the same time, on real git, with a gate whose runs end when a test says so."""

from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest

from orchestrator.domain.event.landing import TrialJudged, UnitEjected
from orchestrator.domain.ids import UnitId
from orchestrator.queue.branch_landing import LandingResult
from orchestrator.queue.candidate_order import CandidateFacts
from orchestrator.queue.parallel_round import ParallelLander, ParallelOptions
from orchestrator.queue.trial_pool import TrialPool
from tests.doubles.jumping_pool import JumpingPool
from tests.doubles.ledger import MemoryLedger
from tests.doubles.marker_gate import MarkerGate
from tests.running.queued import QueuedCandidate, build_project, name_unit

A, B, C, D = map(name_unit, range(4))


class Queue:
    """Candidates that are queued on a repository of their own."""

    def __init__(self, root: Path, *candidates: QueuedCandidate, slots: int = 2, names_tests: bool = False) -> None:
        self.project = build_project(root, candidates)
        self.queued = [one.unit for one in candidates]
        self.ledger = MemoryLedger()
        self.gate = MarkerGate(self.project.branch.repository.git, names_tests=names_tests)
        self.slots = slots
        self.results: list[LandingResult] = []

    async def land_all(self, watch: Callable[[TrialPool], None] = lambda pool: None) -> Sequence[LandingResult]:
        """Do rounds until nothing is queued; `watch` sees the pool after each."""
        async with anyio.create_task_group() as tasks:
            pool = JumpingPool(tasks, self.gate)
            lander = ParallelLander(self.ledger, self.gate, self.project.branch, pool)  # type: ignore[arg-type]
            while self.queued:
                facts = [CandidateFacts(unit, age=age) for age, unit in enumerate(self.queued)]
                options = ParallelOptions(lambda: self.slots, read_paths=self.project.read_paths)
                name = f"round {len(self.results) + 1}"
                result = await lander.land_candidates(name, facts, self.project.composer, options)
                assert result.landed or result.ejected
                self.results.append(result)
                gone = {*result.landed, *(event.unit for event in result.ejected)}
                self.queued = [unit for unit in self.queued if unit not in gone]
                watch(pool)
            pool.end_all_trials()
        return self.results


def trials(queue: Queue) -> list[tuple[tuple[UnitId, ...], bool]]:
    return [(event.units, event.difference.is_green) for event in queue.ledger.state.trials]


async def test_two_prefixes_are_tested_at_once_and_the_longer_one_lands_first(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "repo", *map(QueuedCandidate, (A, B, C)))
    await queue.land_all()
    assert (queue.gate.most_at_once, queue.gate.now) == (2, 1.0)
    assert queue.project.list_landed() == [A, B, C]


async def test_a_red_candidate_is_looked_at_twice_and_the_others_land(tmp_path: Path) -> None:
    red = QueuedCandidate(B, (f"{B}.red",))
    queue = Queue(tmp_path / "repo", QueuedCandidate(A), red, QueuedCandidate(C), slots=4)
    await queue.land_all()
    assert sorted(queue.project.list_landed()) == [A, C]
    assert [event.unit for event in queue.ledger.state.ejections] == [B]
    assert len([units for units, green in trials(queue) if not green and B in units]) >= 2


async def test_a_conflict_between_candidates_costs_no_trial_and_blames_nobody_until_one_has_landed(
    tmp_path: Path,
) -> None:
    first, second = QueuedCandidate(A, shared="shared.txt"), QueuedCandidate(B, shared="shared.txt")
    queue = Queue(tmp_path / "repo", first, second, QueuedCandidate(C))
    await queue.land_all()
    assert queue.project.list_landed() == [A, C]
    assert [(event.unit, event.conflict) for event in queue.ledger.state.ejections] == [(B, ("shared.txt",))]
    assert not [units for units, _ in trials(queue) if B in units]


@pytest.mark.parametrize("renames_first", [True, False])
async def test_a_conflict_by_a_renamed_folder_is_found_though_no_path_is_shared(
    tmp_path: Path, *, renames_first: bool
) -> None:
    candidates = [QueuedCandidate(A, renamed="folder"), QueuedCandidate(B, added="folder/new")]
    queue = Queue(tmp_path / "repo", *(candidates if renames_first else reversed(candidates)))
    with anyio.fail_after(60):
        await queue.land_all()
    first, second = (A, B) if renames_first else (B, A)
    assert queue.project.list_landed() == [first]
    assert [(event.unit, bool(event.conflict)) for event in queue.ledger.state.ejections] == [(second, True)]


async def test_a_trial_whose_answer_is_foreseen_is_ended(tmp_path: Path) -> None:
    """The first of two is red alone: the run on both, which takes longer, is stopped."""
    queue = Queue(tmp_path / "repo", QueuedCandidate(A, (f"{A}.red",)), QueuedCandidate(B))
    gate, ends = queue.gate, iter((2.0, 1.0, 1.0, 1.0, 1.0, 1.0))
    gate.choose_length = lambda: next(ends)  # type: ignore[method-assign]
    await queue.land_all()
    assert gate.ended == 1
    assert queue.project.list_landed() == [B]


async def test_a_longer_union_under_trial_lands_in_the_next_round_without_another_run(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "repo", QueuedCandidate(A), QueuedCandidate(B))
    gate, ends, kept = queue.gate, iter((2.0, 1.0)), []
    gate.choose_length = lambda: next(ends)  # type: ignore[method-assign]
    await queue.land_all(lambda pool: kept.append([trial.units for trial in pool.list_running()]))
    assert [result.landed for result in queue.results] == [(A,), (B,)]
    assert (kept[0], gate.runs) == ([(B,)], 2)
    assert [event.round for event in queue.ledger.list_events(TrialJudged)] == ["round 1", "round 2"]


async def test_of_two_that_are_red_only_together_the_later_is_ejected(tmp_path: Path) -> None:
    halves = [QueuedCandidate(A, ("pair.half-1",)), QueuedCandidate(B), QueuedCandidate(C, ("pair.half-2",))]
    queue = Queue(tmp_path / "repo", *halves)
    await queue.land_all()
    assert sorted(queue.project.list_landed()) == [A, B]
    assert [event.unit for event in queue.ledger.state.ejections] == [C]


async def test_tests_that_a_red_union_names_lead_to_the_guilty_by_narrow_probes(tmp_path: Path) -> None:
    candidates = [QueuedCandidate(name_unit(number)) for number in range(12)]
    candidates[7] = QueuedCandidate(name_unit(7), (f"{name_unit(7)}.red",))
    queue = Queue(tmp_path / "repo", *candidates, slots=1, names_tests=True)
    await queue.land_all()
    (ejected,) = queue.ledger.list_events(UnitEjected)
    assert isinstance(ejected, UnitEjected)
    assert (ejected.unit, ejected.difference.new_failures) == (name_unit(7), (name_unit(7),))
    assert len(queue.project.list_landed()) == 11
    assert 0 < queue.gate.probes < 12
    assert queue.gate.runs <= 4

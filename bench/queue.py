"""Measure the merge queue: real git, real composition, the real policy and rounds, against serial gating and others.

    python -m bench.queue
    FULL=1 python -m bench.queue

The gate is synthetic: a run takes T, and is red by marker files that it reads from the tree with git. T is virtual: the
gate's clock jumps to the next end of a run when nothing else is at work, so figures tell of the gate's runs alone. The
real seconds that git and the queue took for each landing are printed beside them, with a case on each processor. 28 %
of the candidates conflict with an earlier one; of 10 % a test is flaky and fails in 1 to 5 % of the runs. By
`JITTER=0.1` lengths of runs differ. By `BENCH_PLANT=2` each run of ours takes 2 T: to see that a slower queue shows.

Serial gating, bors' bisection (batches of eight on one slot) and a merge train (each prefix on a slot) are counted on
the same candidates, by what their markers say. The bound is that of information: K(1 - p)/H(p) landings per T.
Leaves with 1 if a bar is missed.
"""

import math
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import anyio

from bench.measuring import read_planted_factor
from bench.queue_rivals import run_bors, run_serial, run_train
from orchestrator.domain.event.landing import TrialJudged
from orchestrator.queue.candidate_order import CandidateFacts
from orchestrator.queue.failure_rate import list_failures
from orchestrator.queue.parallel_round import ParallelLander, ParallelOptions
from tests.doubles.jumping_pool import JumpingPool
from tests.doubles.ledger import MemoryLedger
from tests.doubles.marker_gate import MarkerGate
from tests.running.queued import QueuedCandidate, build_project, name_unit

LEAST_CANDIDATES, MOST_CANDIDATES, LENGTH_T = 300, 1_000, 60
"""So many that conflict with nobody in each case of the grid; those that do come on top.

Within these two a case takes 60 T at the bound. At the end of a queue slots stay empty for some T, however long it was.
"""
CONFLICTS, FLAKY = 0.28, 0.1
SHORT = ((0.05, 2, 300), (0.05, 4, 200), (0.1, 4, 100), (0.3, 16, 500))
RATES, SLOTS = (0.02, 0.05, 0.1, 0.2, 0.3), (1, 2, 4, 8, 16)
LEAST_SPEEDUP, MOST_RUNS = 5.0, 0.45
LEAST_MERGED = {(0.05, 4): 8.0, (0.3, 16): 8.0}
LEAST_SHARE, MOST_WRONG = 0.6, 0.001


@dataclass(frozen=True)
class Figures:
    """The figures of one queue: landings per T, runs per landing, innocents rejected, waits in T, real seconds."""

    merged_per_t: float
    runs_per_landing: float
    wrong: int
    waits: Sequence[float]
    real_s: float
    conflict_runs: int


@dataclass(frozen=True)
class CaseResult:
    """One case of the grid; of each rival landings per T and runs per landing."""

    rate: float
    slots: int
    ours: Figures
    serial: tuple[float, float]
    bors: tuple[float, float]
    train: tuple[float, float]

    @property
    def share_of_bound(self) -> float:
        """The landings per T as a share of the bound."""
        return self.ours.merged_per_t / compute_bound(self.rate, self.slots)


def main() -> int:
    """Print the table; return 1 if a bar is missed."""
    is_full = os.environ.get("FULL") == "1"
    cases = list_full_cases() if is_full else list(SHORT)
    columns = (
        f"{'p':>4} {'K':>2} {'merged/T':>8} {'runs/l':>6} {'share':>6} {'wrong':>5} {'p50':>5} {'p95':>5} {'s/l':>6}"
    )
    print(f"{columns}   rivals: landings per T (runs per landing)")
    missed, wrong, judged = [], 0, 0
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as processes:
        for result in processes.map(measure_case, cases):
            print(format_row(result), flush=True)
            missed += find_missed_bars(result)
            wrong += result.ours.wrong
            judged += len(result.ours.waits)
    print(f"innocents rejected {wrong} of {judged} (at most {MOST_WRONG:.1%})")
    if wrong > MOST_WRONG * judged:
        missed.append("innocents rejected")
    for bar in missed:
        print(f"missed: {bar}")
    return int(bool(missed))


def list_full_cases() -> list[tuple[float, int, int]]:
    cases = []
    for rate in RATES:
        for slots in SLOTS:
            count = round(LENGTH_T * compute_bound(rate, slots))
            cases.append((rate, slots, min(MOST_CANDIDATES, max(LEAST_CANDIDATES, count))))
    return cases


def measure_case(case: tuple[float, int, int]) -> CaseResult:
    rate, slots, count = case
    candidates = make_candidates(rate, slots, int(os.environ.get("CANDIDATES", str(count))))
    rivals = (run_serial(candidates), run_bors(candidates), run_train(candidates, slots))
    return CaseResult(rate, slots, anyio.run(measure_queue, candidates, slots), *rivals)


def format_row(result: CaseResult) -> str:
    ours, waits = result.ours, sorted(result.ours.waits)
    rivals = {"serial": result.serial, "bors": result.bors, "train": result.train}
    return (
        f"{result.rate:>4} {result.slots:>2} {ours.merged_per_t:>8.2f} {ours.runs_per_landing:>6.2f} "
        f"{result.share_of_bound:>6.0%} {ours.wrong:>5} {waits[len(waits) // 2]:>5.1f} "
        f"{waits[int(len(waits) * 0.95)]:>5.1f} {ours.real_s:>6.3f}   "
        + "  ".join(f"{name} {one[0]:.2f} ({one[1]:.2f}r)" for name, one in rivals.items())
    )


def find_missed_bars(result: CaseResult) -> list[str]:
    rate, slots, figures = result.rate, result.slots, result.ours
    missed, name = [], f"p={rate} K={slots}"
    if (rate, slots) == (0.05, 2):
        if figures.merged_per_t < LEAST_SPEEDUP * result.serial[0]:
            missed.append(f"{name}: {figures.merged_per_t / result.serial[0]:.1f}x serial, not {LEAST_SPEEDUP}x")
        if figures.runs_per_landing > MOST_RUNS:
            missed.append(f"{name}: {figures.runs_per_landing:.2f} runs per landing, not {MOST_RUNS}")
    if figures.merged_per_t < LEAST_MERGED.get((rate, slots), 0):
        missed.append(f"{name}: {figures.merged_per_t:.2f} per T, not {LEAST_MERGED[rate, slots]}")
    if slots <= 4 and rate <= 0.1 and result.share_of_bound < LEAST_SHARE:
        missed.append(f"{name}: {result.share_of_bound:.0%} of the bound, not {LEAST_SHARE:.0%}")
    if figures.conflict_runs:
        missed.append(f"{name}: {figures.conflict_runs} runs with a conflicting candidate")
    return missed


def compute_bound(rate: float, slots: int) -> float:
    """Return the most landings per T: each run tells one bit, and a candidate's verdict holds H(rate) of them."""
    entropy = -(rate * math.log2(rate) + (1 - rate) * math.log2(1 - rate))
    return slots * (1 - rate) / entropy


def make_candidates(rate: float, slots: int, count: int) -> list[QueuedCandidate]:
    """Return `count` candidates that conflict with nobody before them, and among them others that do."""
    chance = random.Random(f"{rate} {slots}")
    candidates: list[QueuedCandidate] = []
    red, sole = set(chance.sample(range(count), round(rate * count))), 0
    while sole < count:
        unit = name_unit(len(candidates))
        rivals = [one for one in candidates[-20:] if one.shared and not one.is_red]
        if rivals and chance.random() < CONFLICTS:
            candidates.append(QueuedCandidate(unit, shared=chance.choice(rivals).shared))
            continue
        markers = []
        if sole in red:
            markers.append(f"{unit}.red")
        if chance.random() < FLAKY:
            markers.append(f"{unit}.{chance.randint(1, 5)}flaky")
        candidates.append(QueuedCandidate(unit, tuple(markers), f"shared/{unit}.txt"))
        sole += 1
    return candidates


async def measure_queue(candidates: Sequence[QueuedCandidate], slots: int) -> Figures:
    """Land all candidates by the real rounds."""
    with tempfile.TemporaryDirectory(prefix="orchestrate-queue-") as place:
        project = build_project(Path(place) / "repo", candidates)
        jitter = float(os.environ.get("JITTER", "0"))
        gate = MarkerGate(project.branch.repository.git, read_planted_factor(), jitter)
        ledger, waits, wrong = MemoryLedger(), list[float](), 0
        by_unit = {one.unit: one for one in candidates}
        queued = list(by_unit)
        begun = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            pool = JumpingPool(tasks, gate)
            lander = ParallelLander(ledger, gate, project.branch, pool)  # type: ignore[arg-type]
            while queued:
                facts = [CandidateFacts(unit, age=age) for age, unit in enumerate(queued)]
                options = ParallelOptions(
                    lambda: slots,
                    failures=list_failures(ledger.state.trials, ledger.state.ejections),
                    read_paths=project.read_paths,
                )
                result = await lander.land_candidates("round", facts, project.composer, options)
                gate.landed.update(result.landed)
                waits += [gate.now] * len(result.landed)
                wrong += sum(not one.conflict and not by_unit[one.unit].is_red for one in result.ejected)
                gone = {*result.landed, *(one.unit for one in result.ejected)}
                queued = [unit for unit in queued if unit not in gone]
            pool.end_all_trials()
        real_s = time.perf_counter() - begun
        tested = {unit for trial in ledger.list_events(TrialJudged) for unit in trial.units}  # type: ignore[attr-defined]
        conflicting = {one.unit for one in ledger.state.ejections if one.conflict}
    landed = len(waits)
    return Figures(landed / gate.now, gate.runs / landed, wrong, waits, real_s / landed, len(tested & conflicting))


if __name__ == "__main__":
    sys.exit(main())

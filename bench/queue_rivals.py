"""Other queues on the same candidates: serial gating, bors' bisection and a merge train.

Each returns landings per T and runs per landing. Conflicting candidates cost none of them a run.
"""

import random
from collections.abc import Sequence

from tests.running.queued import QueuedCandidate

_BATCH = 8


class _RivalGate:
    """The gate's word on a union, by what its candidates' markers say."""

    def __init__(self) -> None:
        self._chance = random.Random(0)
        self.runs = 0

    def is_green(self, union: Sequence[QueuedCandidate]) -> bool:
        self.runs += 1
        if any(one.is_red for one in union):
            return False
        return all(self._chance.random() >= one.flake_rate for one in union)

    def is_green_at_last(self, candidate: QueuedCandidate) -> bool:
        """A red single gets a second look."""
        return self.is_green([candidate]) or self.is_green([candidate])


def run_serial(candidates: Sequence[QueuedCandidate]) -> tuple[float, float]:
    """Test one candidate after the other."""
    gate, landed = _RivalGate(), _Landed(candidates)
    for one in candidates:
        if not landed.has_conflict(one) and gate.is_green_at_last(one):
            landed.add(one)
    return landed.count / gate.runs, gate.runs / landed.count


def run_bors(candidates: Sequence[QueuedCandidate]) -> tuple[float, float]:
    """Test batches of eight on one slot, and halve a red one."""
    gate, landed = _RivalGate(), _Landed(candidates)
    pending = [list(candidates[start : start + _BATCH]) for start in range(0, len(candidates), _BATCH)]
    while pending:
        batch = landed.select_compatible(pending.pop(0))
        if not batch:
            continue
        if len(batch) == 1:
            if gate.is_green_at_last(batch[0]):
                landed.add(batch[0])
        elif gate.is_green(batch):
            for one in batch:
                landed.add(one)
        else:
            half = len(batch) // 2
            pending = [batch[:half], batch[half:], *pending]
    return landed.count / gate.runs, gate.runs / landed.count


def run_train(candidates: Sequence[QueuedCandidate], slots: int) -> tuple[float, float]:
    """Test each prefix of the queue on a slot of its own; eject the first red one, and begin anew behind it."""
    gate, landed, rounds = _RivalGate(), _Landed(candidates), 0
    queue = list(candidates)
    suspect: QueuedCandidate | None = None
    while queue:
        queue = [one for one in queue if not landed.has_conflict(one)]
        window = landed.select_compatible(queue)[:slots]
        if not window:
            break
        rounds += 1
        green = 0
        answers = [gate.is_green(window[: size + 1]) for size in range(len(window))]
        for size, answer in enumerate(answers, start=1):
            if answer:
                green = size
        for one in window[:green]:
            landed.add(one)
            queue.remove(one)
        if green < len(window):
            first = window[green]
            if suspect is first:
                queue.remove(first)
            suspect = first
    return landed.count / rounds, gate.runs / landed.count


class _Landed:
    """The candidates that have landed, and those that conflict with them."""

    def __init__(self, candidates: Sequence[QueuedCandidate]) -> None:
        self._files: set[str] = set()
        self.count = 0

    def add(self, one: QueuedCandidate) -> None:
        self._files.add(one.shared)
        self.count += 1

    def has_conflict(self, one: QueuedCandidate) -> bool:
        return one.shared in self._files

    def select_compatible(self, candidates: Sequence[QueuedCandidate]) -> list[QueuedCandidate]:
        """Those that conflict neither with what landed nor with each other."""
        files, found = set(self._files), []
        for one in candidates:
            if one.shared not in files:
                files.add(one.shared)
                found.append(one)
        return found

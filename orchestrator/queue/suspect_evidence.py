"""Evidence on who is suspected first, before anything was tried."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.ports.gate import GateResult


class SuspectEvidence(Protocol):
    """Evidence against units."""

    async def find_prime_suspects(
        self, commit: CommitId, result: GateResult, symptoms: Sequence[str], units: Sequence[UnitId]
    ) -> Mapping[str, Sequence[UnitId]]:
        """Return, by symptom of `result` on `commit`, the units that its text or its test's sources point at."""
        ...


class NoSuspectEvidence:
    """Everybody is as suspect as everybody else."""

    async def find_prime_suspects(
        self, _commit: CommitId, _result: GateResult, _symptoms: Sequence[str], _units: Sequence[UnitId]
    ) -> Mapping[str, Sequence[UnitId]]:
        """Return nothing."""
        return {}

"""The run's acceptance criteria, frozen before the first task."""

from typing import Literal

from orchestrator.domain.base import Frozen


class Criterion(Frozen):
    """One thing that must hold at the end; `command` is how the harness checks it, where that is possible."""

    id: str
    text: str
    command: str | None = None


class Contract(Frozen):
    """All criteria of a run."""

    criteria: tuple[Criterion, ...]


class CriterionFinding(Frozen):
    """Whether a criterion is met, with the evidence cited for it.

    `receipt` is the key of the receipt of its command, which only the harness can put there.
    """

    id: str
    met: bool
    evidence: str
    receipt: str = ""


class Proposal(Frozen):
    """A criterion that a judge misses in the contract. It counts for nothing unless a person adds it."""

    id: str
    text: str


class IterationVerdict(Frozen):
    """The decision at the end of an iteration, criterion by criterion."""

    decision: Literal["done", "continue", "restart"]
    findings: tuple[CriterionFinding, ...] = ()
    reasons: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()

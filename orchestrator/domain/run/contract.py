"""The run's acceptance criteria, frozen before the first task."""

import re
from collections.abc import Collection, Iterable
from operator import attrgetter
from typing import Literal

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CRITERION_ID_PATTERN
from orchestrator.domain.judging.verifier_tests import VerifierFile

GOAL_CRITERION, GATE_CRITERION = "goal", "gate"
"""The criteria that every contract has: the goal itself, and that nothing which worked is lost."""


class ContractAltered(ValueError):
    """A frozen contract was to change without a person: a defect in the engine or a damaged journal."""


class Criterion(FrozenModel):
    """One thing that must hold at the end; `command` is how the harness checks it, where that is possible.

    `files` are tests of a verifier that stand in the tree that the command runs on, and in no other.
    """

    id: str
    text: str
    command: str | None = None
    files: tuple[VerifierFile, ...] = ()

    @property
    def check(self) -> str:
        """The id of the check that the command is run as."""
        return self.id if self.id == GATE_CRITERION else f"contract-{self.id}"


class Contract(FrozenModel):
    """All criteria of a run."""

    criteria: tuple[Criterion, ...]

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the criteria."""
        return frozenset(map(attrgetter("id"), self.criteria))

    def with_criteria(self, criteria: Iterable[Criterion]) -> "Contract":
        """Return the contract with more criteria at the end; none replaces an existing one."""
        added = tuple(criterion for criterion in criteria if criterion.id not in self.ids)
        return Contract(criteria=(*self.criteria, *added))

    def without_criterion(self, name: str) -> "Contract":
        """Return the contract without one criterion."""
        return Contract(criteria=tuple(criterion for criterion in self.criteria if criterion.id != name))


def split_criterion(text: str) -> tuple[str, str]:
    """Return the id and the text of `ID: TEXT`; the id is empty where the text names none."""
    name, colon, rest = text.partition(": ")
    if colon and re.fullmatch(CRITERION_ID_PATTERN, name):
        return name, rest
    return "", text


def freeze_contract(before: Contract | None, after: Contract, granted: Collection[str]) -> Contract:
    """Return the frozen contract. It is frozen once; what people change later is recorded as their words.

    `granted` are ids of criteria that a person has let be added: old journals freeze the contract again for these.

    Raises:
        ContractAltered: another contract holds already.
    """
    if before is None or after == before:
        return after
    kept, added = after.criteria[: len(before.criteria)], after.criteria[len(before.criteria) :]
    is_allowed = all(criterion.id in granted and criterion.id not in before.ids for criterion in added)
    if kept != before.criteria or not is_allowed:
        raise ContractAltered("the contract is frozen: only a person can change a criterion of a run that has begun")
    return after


class CriterionFinding(FrozenModel):
    """The finding whether a criterion is met, with the evidence cited for it.

    `receipt` is the key of the receipt of its command, which only the harness can put there.
    """

    id: str
    met: bool
    evidence: str
    receipt: str = ""


class Proposal(FrozenModel):
    """A criterion that a judge misses in the contract. It counts for nothing unless a person adds it."""

    id: str
    text: str


class IterationVerdict(FrozenModel):
    """The decision at the end of an iteration, criterion by criterion."""

    decision: Literal["done", "continue", "restart"]
    findings: tuple[CriterionFinding, ...] = ()
    reasons: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    accepted: tuple[str, ...] = Field((), description="Ids of proposals for the field guide that you accept.")
    restart_from: str = Field(
        "", description="With restart: the id of the last good state, as listed; empty to begin again from the base."
    )

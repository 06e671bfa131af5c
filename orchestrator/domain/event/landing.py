"""Events of the queue: trials of unions of units, ejections, landings."""

from typing import Literal

from pydantic import Field

from orchestrator.domain.event.base import Done, Event, Intent
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.domain.judging.check import Difference


class LandedPart(FrozenModel):
    """One commit of a landing that consists of several, with the name of what it holds: a migration's shard."""

    name: str
    commit: CommitId
    units: tuple[UnitId, ...]


class TrialJudged(Event):
    """The gate's word on a union of units on top of what has landed.

    `cached` tells that the tree had been judged before and nothing ran, `is_second_look` that it was tried again on
    purpose, because a single unit is not blamed for a test that fails now and then. `symptoms` are the red tests that
    were looked for, where not the whole gate ran; `seen` are those of them that were there. `taken_back` counts the
    units of earlier landings that were left out for once, to see whether they are needed for a symptom.
    """

    kind: Literal["trial.judged"] = "trial.judged"
    round: str
    units: tuple[UnitId, ...]
    tree: TreeId
    difference: Difference
    cached: bool
    is_second_look: bool = False
    symptoms: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    taken_back: int = 0


class UnitEjected(Event):
    """A unit cannot land: alone on top of what landed it is red, or its text conflicts.

    `partners` are units with which it is red only together; some of them may have landed before.
    """

    kind: Literal["unit.ejected"] = "unit.ejected"
    round: str
    unit: UnitId
    conflict: tuple[str, ...] = ()
    difference: Difference = Field(default_factory=Difference)
    receipts: tuple[str, ...] = ()
    partners: tuple[UnitId, ...] = ()


class LandingStarted(Intent):
    """The PR branch is about to move from `old` to `new`; `old` is None when it does not exist yet."""

    kind: Literal["landing.started"] = "landing.started"
    branch: str
    old: CommitId | None
    new: CommitId
    tree: TreeId
    units: tuple[UnitId, ...]
    parts: tuple[LandedPart, ...] = ()


class LandingFinished(Done):
    """The PR branch moved."""

    kind: Literal["landing.finished"] = "landing.finished"
    branch: str
    new: CommitId
    tree: TreeId
    units: tuple[UnitId, ...]
    parts: tuple[LandedPart, ...] = ()


class RefSetting(Intent):
    """A ref of the run's own is about to be pointed at a git object."""

    kind: Literal["ref.setting"] = "ref.setting"
    ref: str
    object: str


class RefSet(Done):
    """The ref points at the object."""

    kind: Literal["ref.set"] = "ref.set"

"""Events of the queue: trials of unions of units, ejections, landings."""

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


class TrialJudged(Event, kind="trial.judged"):
    """The gate's word on a union of units on top of what has landed.

    `cached` tells that the tree had been judged before and nothing ran, `is_second_look` that it was tried again on
    purpose, because a single unit is not blamed for a test that fails now and then. `symptoms` are the red tests that
    were looked for, where not the whole gate ran; `seen` are those of them that were there. `taken_back` counts the
    units of earlier landings that were left out for once, to see whether they are needed for a symptom.
    """

    round: str
    units: tuple[UnitId, ...]
    tree: TreeId
    difference: Difference
    cached: bool
    is_second_look: bool = False
    symptoms: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    taken_back: int = 0


class UnitEjected(Event, kind="unit.ejected"):
    """A unit cannot land: alone on top of what landed it is red, or its text conflicts.

    `partners` are units with which it is red only together; some of them may have landed before. `is_vetoed` tells that
    a hook of the user's refused the landing.
    """

    round: str
    unit: UnitId
    conflict: tuple[str, ...] = ()
    difference: Difference = Field(default_factory=Difference)
    receipts: tuple[str, ...] = ()
    partners: tuple[UnitId, ...] = ()
    is_vetoed: bool = False


class ClashForeseen(Event, kind="clash.foreseen"):
    """Work that is under way would conflict in `paths`: with other such work, or with the branch if it has no partner.

    Without `paths` it would conflict no more.
    """

    unit: UnitId
    partners: tuple[UnitId, ...] = ()
    paths: tuple[str, ...] = ()


class Landing(FrozenModel):
    """What lands on the PR branch: `new` is the commit it moves to.

    Without units it brings nothing new: `new` has the tree of what landed before, and stands for its commits.
    """

    branch: str
    new: CommitId
    tree: TreeId
    units: tuple[UnitId, ...]
    parts: tuple[LandedPart, ...] = ()

    @property
    def is_squash(self) -> bool:
        """Return True if one commit took the place of others."""
        return not self.units


class LandingStarted(Landing, Intent, kind="landing.started"):
    """The PR branch is about to move from `old` to `new`; `old` is None when it does not exist yet."""

    old: CommitId | None


class LandingFinished(Landing, Done, kind="landing.finished"):
    """The PR branch moved."""


class LineRewind(FrozenModel):
    """The PR branch goes back from `old`, where an iteration left it, to `new`, from which the next one begins.

    A branch that goes back to the run's base is removed until something lands again. The ref `kept` holds `old`;
    `foreign` is the number of commits between the two that the run did not make.
    """

    branch: str
    iteration: int
    old: CommitId
    new: CommitId
    kept: str
    foreign: int = 0


class RewindStarted(LineRewind, Intent, kind="rewind.started"):
    """The PR branch is about to go back. `reasons` are what the next iteration begins with."""

    reasons: tuple[str, ...] = ()


class RewindFinished(LineRewind, Done, kind="rewind.finished"):
    """The PR branch went back, and what had landed beyond is left behind."""


class RefSetting(Intent, kind="ref.setting"):
    """A ref of the run's own is about to be pointed at a git object."""

    ref: str
    object: str


class RefSet(Done, kind="ref.set"):
    """The ref points at the object."""

"""Events of the run as a whole."""

from datetime import datetime
from typing import Any, Literal

from orchestrator.domain.event.base import Done, Event, Intent
from orchestrator.domain.ids import CommitId, RunId, TreeId
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.run.contract import Contract, IterationVerdict
from orchestrator.domain.run.purpose import PurposeFacts, parse_old_purpose

RunOutcome = Literal["done", "partial", "blocked", "rejected", "nothing-changed", "failed", "cancelled"]


class RunStarted(Event):
    """The run exists. `settings` is the resolved configuration, frozen here; secrets never stand in it.

    `started_at` dates every commit that the harness makes, so that the same work gives the same ids.
    """

    kind: Literal["run.started"] = "run.started"
    run: RunId
    mode: Literal["goal", "migration"]
    goal: str
    started_at: datetime
    repository: str
    base: CommitId
    base_tree: TreeId
    branch: str
    target: str
    settings: dict[str, Any]
    recipe: dict[str, Any] | None = None


class RepositoryMoved(Event):
    """The run goes on in a repository at another path than before: it was moved, or the run came from elsewhere."""

    kind: Literal["run.moved"] = "run.moved"
    repository: str


class EngineStarted(Event):
    """A process took the run's lock. `epoch` counts the processes that have had it."""

    kind: Literal["engine.started"] = "engine.started"
    epoch: int
    pid: int
    host: str
    version: str


class Noticed(Event):
    """Something a person should know that changes nothing: a dirty checkout, a dropped file, a weak sandbox.

    `code` is a `domain.run.notice_codes.NoticeCode` where programs go by the notice, `subject` and `paths` are what it
    names; old journals have no `subject`, and most notices in them no code.
    """

    kind: Literal["run.noticed"] = "run.noticed"
    level: Literal["info", "warning"]
    text: str
    code: str = ""
    subject: str = ""
    paths: tuple[str, ...] = ()


class BaselineRecorded(Event):
    """The gate's receipts on the base tree: what every later verdict is a difference to."""

    kind: Literal["baseline.recorded"] = "baseline.recorded"
    receipts: tuple[str, ...]


class CheckStarted(Intent):
    """The harness is about to run a check on a tree."""

    kind: Literal["check.started"] = "check.started"
    check: str
    tree: TreeId
    purpose: str
    facts: PurposeFacts | None = None

    @property
    def purpose_facts(self) -> PurposeFacts:
        """The facts of its purpose, also from an old journal."""
        return self.facts or parse_old_purpose(self.purpose)


class CheckFinished(Done):
    """A check ran; the receipt is the evidence."""

    kind: Literal["check.finished"] = "check.finished"
    receipt: Receipt


class FlakesSeen(Event):
    """Two runs of one check on one tree disagreed on these tests: they say nothing for certain about any change."""

    kind: Literal["flakes.seen"] = "flakes.seen"
    check: str
    tree: TreeId
    flaky: tuple[str, ...]
    receipts: tuple[str, str]


class ContractFrozen(Event):
    """The acceptance criteria, before the first task. People change them later by a command or an answer."""

    kind: Literal["contract.frozen"] = "contract.frozen"
    contract: Contract


class IterationStarted(Event):
    """Planning begins, for the first time or again; `forget` hides what was done before from the planners."""

    kind: Literal["iteration.started"] = "iteration.started"
    number: int
    reasons: tuple[str, ...] = ()
    forget: bool = False


class IterationJudged(Event):
    """The verdict on the contract at the end of an iteration.

    `again` is how often a person had had it judged anew when it was asked for: a later one makes it void. Old
    journals do not tell.
    """

    kind: Literal["iteration.judged"] = "iteration.judged"
    number: int
    verdict: IterationVerdict
    again: int | None = None


class EffectAbandoned(Done):
    """An effect that was begun did not happen, or nobody knows and it does not matter; it may be tried again."""

    kind: Literal["effect.abandoned"] = "effect.abandoned"
    reason: str


class RunDraining(Event):
    """A person asked to stop: no new work starts, what runs is finished."""

    kind: Literal["run.draining"] = "run.draining"


class ClockJumped(Event):
    """The wall clock moved by so many seconds more than passed for the engine: it was set, or the machine slept."""

    kind: Literal["clock.jumped"] = "clock.jumped"
    by_s: float


class RunPaused(Event):
    """The engine stopped before the end and everything is kept; `exit` is the code the process leaves with."""

    kind: Literal["run.paused"] = "run.paused"
    reason: str
    exit: int


class PrOpening(Intent):
    """The pull request is about to be opened or updated."""

    kind: Literal["pr.opening"] = "pr.opening"
    forge: str
    head: CommitId
    group: str = ""


class PrOpened(Done):
    """The pull request stands; `ref` names it on its forge, `url` is where a person reads it.

    `group` says which of several of the run it is, `branch` and `head` what it asks to merge.
    """

    kind: Literal["pr.opened"] = "pr.opened"
    forge: str
    ref: str
    url: str
    group: str = ""
    branch: str = ""
    head: str = ""


class RunEnded(Event):
    """The run is over. `reason` says why in words."""

    kind: Literal["run.ended"] = "run.ended"
    outcome: RunOutcome
    reason: str
    exit: int
    head: CommitId | None

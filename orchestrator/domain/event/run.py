"""Events of the run as a whole."""

from datetime import datetime
from typing import Any, Literal

from orchestrator.domain.event.base import Done, Event, Intent, PurposeIntent
from orchestrator.domain.ids import CommitId, RunId, TreeId
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.run.contract import Contract, IterationVerdict
from orchestrator.domain.run_outcome import RunEndCause, RunOutcome


class RunStarted(Event, kind="run.started"):
    """The run exists. `settings` is the resolved configuration, frozen here; secrets never stand in it.

    `started_at` dates every commit that the harness makes, so that the same work gives the same ids. `names_agents`
    tells that its commits name the agents that made them; in old journals they do not, and so they stay the same.
    `name` is what a person calls it, empty if nothing.
    """

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
    names_agents: bool = False
    name: str = ""


class RepositoryMoved(Event, kind="run.moved"):
    """The run goes on in a repository at another path than before: it was moved, or the run came from elsewhere."""

    repository: str


class EngineStarted(Event, kind="engine.started"):
    """A process took the run's lock. `epoch` counts the processes that have had it."""

    epoch: int
    pid: int
    host: str
    version: str


class Noticed(Event, kind="run.noticed"):
    """Something a person should know that changes nothing: a dirty checkout, a dropped file, a weak sandbox.

    `code` is a `domain.run.notice_codes.NoticeCode` where programs go by the notice, `subject` and `paths` are what it
    names; old journals have no `subject`, and most notices in them no code.
    """

    level: Literal["info", "warning"]
    text: str
    code: str = ""
    subject: str = ""
    paths: tuple[str, ...] = ()


class BaselineRecorded(Event, kind="baseline.recorded"):
    """The gate's receipts on the base tree: what every later verdict is a difference to."""

    receipts: tuple[str, ...]


class CheckStarted(PurposeIntent, kind="check.started"):
    """The harness is about to run a check on a tree."""

    check: str
    tree: TreeId


class CheckFinished(Done, kind="check.finished"):
    """A check ran; the receipt is the evidence."""

    receipt: Receipt


class CheckReused(Done, kind="check.reused"):
    """A check need not run: a receipt of an earlier run counts, of the same check, tree and environment."""

    receipt: Receipt


class FlakesSeen(Event, kind="flakes.seen"):
    """Two runs of one check on one tree disagreed on these tests: they say nothing for certain about any change."""

    check: str
    tree: TreeId
    flaky: tuple[str, ...]
    receipts: tuple[str, str]


class ContractFrozen(Event, kind="contract.frozen"):
    """The acceptance criteria, before the first task. People change them later by a command or an answer."""

    contract: Contract


class IterationStarted(Event, kind="iteration.started"):
    """Planning begins, for the first time or again; `forget` hides what was done before from the planners."""

    number: int
    reasons: tuple[str, ...] = ()
    forget: bool = False


class IterationJudged(Event, kind="iteration.judged"):
    """The verdict on the contract at the end of an iteration.

    `again` is how often a person had had it judged anew when it was asked for: a later one makes it void. `head` is
    the commit that was judged. Old journals do not tell either.
    """

    number: int
    verdict: IterationVerdict
    again: int | None = None
    head: CommitId | None = None


class IterationReopened(Event, kind="iteration.reopened"):
    """The verdict on an iteration is void, because the PR branch was moved before it was followed."""

    number: int
    reason: str


class EffectAbandoned(Done, kind="effect.abandoned"):
    """An effect that was begun did not happen, or nobody knows and it does not matter; it may be tried again."""

    reason: str


class RunDraining(Event, kind="run.draining"):
    """A person asked to stop: no new work starts, what runs is finished."""


class ClockJumped(Event, kind="clock.jumped"):
    """The wall clock moved by so many seconds more than passed for the engine: it was set, or the machine slept."""

    by_s: float


class RunPaused(Event, kind="run.paused"):
    """The engine stopped before the end and everything is kept; `exit` is the code the process leaves with."""

    reason: str
    exit: int


class PrOpening(Intent, kind="pr.opening"):
    """The pull request is about to be opened or updated."""

    forge: str
    head: CommitId
    group: str = ""


class PrOpened(Done, kind="pr.opened"):
    """The pull request stands; `ref` names it on its forge, `url` is where a person reads it.

    `group` says which of several of the run it is, `branch` and `head` what it asks to merge.
    """

    forge: str
    ref: str
    url: str
    group: str = ""
    branch: str = ""
    head: str = ""


class RunEnded(Event, kind="run.ended"):
    """The run is over. `reason` says why in words, `cause` where programs go by it."""

    outcome: RunOutcome
    reason: str
    exit: int
    head: CommitId | None
    cause: RunEndCause | None = None

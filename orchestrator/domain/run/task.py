"""Tasks, nodes of the plan tree, with the attempts at them and the reports that these end with.

A leaf is work for one worker, a branch a slice for one sub-planner.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, SessionId, TaskId, TreeId, build_work_session_id
from orchestrator.domain.memory.entry import EntryDraft, EntryObjection
from orchestrator.domain.ownership.decisions import DecisionDraft
from orchestrator.domain.run.grant import AnyGrant
from orchestrator.domain.run.person_review import PersonReview


class TaskDraft(FrozenModel):
    """What a planner writes. `key` is local to its slice; `depends_on` names keys of it."""

    key: str = Field(description="Short name, unique in this slice: at most 40 lower-case letters, digits, hyphens.")
    kind: Literal["leaf", "branch"] = Field(
        "leaf", description="leaf: work for one worker. branch: a slice that a sub-planner owns and divides."
    )
    title: str = Field(description="A few words.")
    outcome: str = Field(description="The one testable outcome, in a paragraph.")
    acceptance: tuple[str, ...] = Field((), description="Points by which a reviewer can tell that it is reached.")
    paths: tuple[str, ...] = Field((), description="Globs of the files it will change or create, tests included.")
    non_goals: tuple[str, ...] = Field((), description="What this task must leave alone.")
    depends_on: tuple[str, ...] = Field((), description="Keys, of this or earlier plans, that must have landed before.")
    replaces: str | None = Field(
        None,
        description="The key of a task of an earlier plan that this one takes the place of: one that has not begun, or "
        "ended without landing. What depends on that one then waits for this one.",
    )
    decisions: tuple[str, ...] = Field((), description="Design questions that this task alone decides.")
    reconciles: tuple[str, ...] = Field(
        (), description="Ids of contradictory decisions that this task brings the repository in line with."
    )
    checks: tuple[str, ...] = Field((), description="For a leaf: commands that must exit 0 on the result.")
    grants: tuple[AnyGrant, ...] = Field(
        (),
        description="For a leaf: what it must do to existing tests, and to test, build or CI settings: globs of files, "
        "or paths with what may be done to them; globs of new tests that hold already.",
    )
    regenerate: str = Field(
        "",
        description="For a leaf whose change a generator or codemod makes: its command. What it makes again on the "
        "repository does not count against the size of the change.",
    )
    variant: str | None = Field(None, description="For a leaf: a worker variant by name, or null for the usual worker.")
    verify: bool | None = Field(
        None,
        description="For a leaf: whether a verifier writes tests from outcome and acceptance that the result has to "
        "pass; null: as is usual here.",
    )
    lands_tests: bool = Field(False, description="For a leaf: whether those tests land with the change.")
    budget_usd: float | None = Field(
        None, description="Most dollars it may cost with all below it; null: no own bound."
    )
    budget_tokens: int | None = Field(None, description="The same in tokens, input and output together.")
    best_of: int = Field(
        1,
        description="For a leaf: how many workers try it independently. The best result lands; each costs as much as a "
        "task of its own.",
    )


class Task(FrozenModel):
    """A task of the run; the root planner's own task has no parent."""

    id: TaskId
    parent: TaskId | None
    depth: int
    kind: Literal["leaf", "branch"]
    title: str
    outcome: str
    acceptance: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    non_goals: tuple[str, ...] = ()
    depends_on: tuple[TaskId, ...] = ()
    after: tuple[TaskId, ...] = ()
    """Tasks of other slices that may change the same files: it begins when these have ended, however they did."""
    reconciles: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    grants: tuple[AnyGrant, ...] = ()
    """Leave to change protected files: see `orchestrator.judge.rules.protected_files`."""
    regenerate: str = ""
    """The command that makes what of the change nobody has to read; empty if there is none."""
    variant: str | None = None
    verify: bool | None = None
    """True if a verifier writes tests for it; None as the configuration says."""
    lands_tests: bool = False
    """True if the verifier's tests land with the change."""
    approval: str = ""
    """The question that must be answered with yes before the task begins; empty when it needs none."""
    budget_usd: float | None = None
    budget_tokens: int | None = None
    rival_of: TaskId | None = None
    """The first of the tasks that try the same, of which one lands; its own id for the first; None without rivals."""


class TaskStatus(StrEnum):
    """The status of a task; `domain.transitions` has the allowed changes."""

    PLANNED = "planned"
    RUNNING = "running"
    JUDGING = "judging"
    QUEUED = "queued"
    PLANNING = "planning"
    WAITING = "waiting"
    MERGED = "merged"
    DONE = "done"
    REJECTED = "rejected"
    BLOCKED = "blocked"
    SPLIT = "split"
    CANCELLED = "cancelled"
    UNFINISHED = "unfinished"
    DISCARDED = "discarded"
    """It had landed, and a restart left what it landed behind."""

    @property
    def word(self) -> str:
        """The word that people read for it; JSON and journals have its value."""
        return _WORDS.get(self, self.value)

    @property
    def is_reached(self) -> bool:
        """True if the task's outcome is reached."""
        return self in _REACHED

    @property
    def is_terminal(self) -> bool:
        """True if nothing more will happen to the task in this run."""
        return self in _TERMINAL


_WORDS = {
    TaskStatus.PLANNED: "to do",
    TaskStatus.RUNNING: "at work",
    TaskStatus.JUDGING: "review",
    TaskStatus.QUEUED: "landing",
    TaskStatus.DISCARDED: "left behind",
}
_REACHED = frozenset({TaskStatus.MERGED, TaskStatus.DONE})
_NOT_REACHED = (
    TaskStatus.REJECTED,
    TaskStatus.BLOCKED,
    TaskStatus.SPLIT,
    TaskStatus.CANCELLED,
    TaskStatus.UNFINISHED,
    TaskStatus.DISCARDED,
)
_TERMINAL = frozenset({*_REACHED, *_NOT_REACHED})


class EndCause(StrEnum):
    """The reason why a candidate did not land, or a task ended without landing: each calls for a different reaction.

    What merged, and a planner's task that is done, has none. A task whose attempts are used up ends with the cause of
    the last one; `no-attempt-left` stands where an old journal does not name that.
    """

    RED_TESTS = "red-tests"
    MISSING_TESTS = "missing-tests"
    RULE_BROKEN = "rule-broken"
    UNFINISHED = "unfinished"
    CONFLICT = "conflict"
    RED_TOGETHER = "red-together"
    NO_ATTEMPT_LEFT = "no-attempt-left"
    REFUSED_BY_REVIEW = "refused-by-review"
    REFUSED_BY_HOOK = "refused-by-hook"
    REFUSED_BY_VERIFIER = "refused-by-verifier"
    REFUSED_BY_PERSON = "refused-by-person"
    CANCELLED = "cancelled"
    BUDGET_SPENT = "budget-spent"
    TOO_LARGE = "too-large"
    UNREADABLE_REVIEW = "unreadable-review"
    UNSETTLED_TESTS = "unsettled-tests"
    NOT_TESTED = "not-tested"
    MODEL_REFUSED = "model-refused"
    MODEL_UNREADABLE = "model-unreadable"
    GUEST_FAILED = "guest-failed"
    DEPENDENCY = "dependency"
    PLANNER_FAILED = "planner-failed"
    OUT_OF_ROUNDS = "out-of-rounds"
    WITHDRAWN = "withdrawn"
    REPLACED = "replaced"
    LEFT_BEHIND = "left-behind"
    NOT_CHOSEN = "not-chosen"

    @property
    def is_infrastructure(self) -> bool:
        """True if it says nothing about the work: a model, its provider or the tests have to be repaired."""
        return self in _INFRASTRUCTURE


_UNTOLD = {EndCause.UNREADABLE_REVIEW, EndCause.UNSETTLED_TESTS, EndCause.NOT_TESTED}
_INFRASTRUCTURE = _UNTOLD | {EndCause.MODEL_REFUSED, EndCause.MODEL_UNREADABLE, EndCause.GUEST_FAILED}


class Verified(FrozenModel):
    """A claim with the command that was run for it. It is still a claim: never evidence for a verdict."""

    claim: str = Field(description="What now holds.")
    command: str = Field(description="The command you ran that shows it.")


class Handoff(FrozenModel):
    """What a worker or planner leaves to the planner that asked."""

    summary: str = Field(description="What was done, in two or three sentences.")
    done: tuple[str, ...] = Field((), description="Outcomes reached.")
    remaining: tuple[str, ...] = Field((), description="What is still to do, most important first.")
    verified: tuple[Verified, ...] = Field((), description="Claims that you checked by running a command.")
    believed: tuple[str, ...] = Field((), description="Claims that you did not check.")
    deviations: tuple[str, ...] = Field((), description="Where you departed from the task, and why.")
    concerns: tuple[str, ...] = Field((), description="Risks and surprises that others should know.")
    decided: tuple[DecisionDraft, ...] = Field(
        (),
        description="What you decided that others have to go by, each under an id.",
    )
    learned: tuple[EntryDraft, ...] = Field(
        (), description="What later runs on this repository should know and could not see at a glance; mostly nothing."
    )
    contradicted: tuple[EntryObjection, ...] = Field((), description="Entries of the field guide that do not hold.")
    used: tuple[str, ...] = Field((), description="Ids of entries of the field guide that helped you.")

    def keep_decisions(self, earlier: "Handoff") -> "Handoff":
        """Return it with the decisions of an earlier handoff under ids of which it says nothing."""
        ids = {decision.id for decision in self.decided}
        kept = [decision for decision in earlier.decided if decision.id not in ids]
        return self.model_copy(update={"decided": (*kept, *self.decided)})


AttemptMode = Literal["fresh", "revise", "restart", "fork", "sent-back", "rebase", "arbitrate"]
"""The beginning of an attempt. With `revise` and `sent-back` the same worker goes on with its files and its words.

With `rebase` a worker begins with the task's own work merged onto what landed meanwhile, with `arbitrate` the arbiter.
"""


class Exit(StrEnum):
    """The end of an agent's session; each name calls for a different reaction.

    `refused` is the provider's word, `vetoed` that of a hook of the user's. `guest-failed` and `out-of-time` are ends
    of agents of other makers: a program that failed, and one that was not done in time.
    """

    FINISHED = "finished"
    OUT_OF_TURNS = "out-of-turns"
    OUT_OF_CONTEXT = "out-of-context"
    OUT_OF_BUDGET = "out-of-budget"
    STUCK = "stuck"
    MALFORMED = "malformed"
    REFUSED = "refused"
    VETOED = "vetoed"
    UNKEEPABLE = "unkeepable"
    GUEST_FAILED = "guest-failed"
    OUT_OF_TIME = "out-of-time"

    @property
    def is_infrastructure(self) -> bool:
        """True if a model, its provider or an agent's program failed, which says nothing about the task."""
        return self in {Exit.REFUSED, Exit.MALFORMED, Exit.GUEST_FAILED}

    @property
    def allows_fresh_try(self) -> bool:
        """True if the conversation failed, and one with a fresh context may still give what was asked."""
        return self in {Exit.STUCK, Exit.MALFORMED, Exit.REFUSED, Exit.OUT_OF_CONTEXT, Exit.OUT_OF_TURNS}

    @property
    def is_out_of_room(self) -> bool:
        """True if the session was too short for its task."""
        return self in {Exit.OUT_OF_TURNS, Exit.OUT_OF_CONTEXT, Exit.OUT_OF_TIME}


CAUSE_BY_EXIT: Mapping[Exit, EndCause] = {
    **dict.fromkeys((Exit.OUT_OF_TURNS, Exit.OUT_OF_CONTEXT, Exit.STUCK, Exit.UNKEEPABLE), EndCause.UNFINISHED),
    Exit.OUT_OF_TIME: EndCause.UNFINISHED,
    Exit.GUEST_FAILED: EndCause.GUEST_FAILED,
    Exit.OUT_OF_BUDGET: EndCause.BUDGET_SPENT,
    Exit.MALFORMED: EndCause.MODEL_UNREADABLE,
    Exit.REFUSED: EndCause.MODEL_REFUSED,
    Exit.VETOED: EndCause.REFUSED_BY_HOOK,
}
"""The cause that follows from each end of a session that gave no result."""


class Fork(FrozenModel):
    """The turn at which a conversation leaves another: after `turn` (from 0) of `session`, with files as in `tree`."""

    session: SessionId
    turn: int
    tree: TreeId | None


class Clash(FrozenModel):
    """The sides that an attempt brings together: the candidate that did not land, and what landed meanwhile.

    `base` is what both began from, `candidate` the task's own work. `conflict` are the files that begin with conflict
    markers or with one side alone, empty where the two merge and are red together. `landed` are the tasks that changed
    what clashes. `number` counts the clashes of the task in a row, from 1.
    """

    base: CommitId
    candidate: CommitId
    conflict: tuple[str, ...] = ()
    landed: tuple[TaskId, ...] = ()
    number: int = 1


class Attempt(FrozenModel):
    """One try at a task. `feedback` is why the one before did not merge; `start` is the candidate it goes on from.

    `note` is what a person tells the worker, `fork` the turn of an earlier attempt that a person had it go on from,
    `review` what a person said of the change that an earlier attempt would have landed. `clash` are the two sides that
    it brings together; `start` is then the harness's merge of them.
    """

    task: TaskId
    number: int
    mode: AttemptMode
    base: CommitId
    model: str
    variant: str | None = None
    """The worker's variant; None for the usual one, and in old journals."""
    start: CommitId | None = None
    feedback: tuple[str, ...] = ()
    handoff: Handoff | None = None
    note: str = ""
    fork: Fork | None = None
    review: PersonReview | None = None
    clash: Clash | None = None

    @property
    def goes_on(self) -> bool:
        """True if it goes on from the files and the words of the attempt before."""
        return self.mode in {"revise", "sent-back"}

    @property
    def keeps_work(self) -> bool:
        """True if it begins with what the attempts before have done."""
        return self.mode not in {"fresh", "restart"}

    @property
    def session(self) -> SessionId:
        """The worker's conversation."""
        return build_work_session_id(self.task, self.number)

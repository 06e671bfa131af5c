"""Events of planning and of attempts, and of the conversations inside them."""

from datetime import datetime

from pydantic import Field

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Role, ToolCall
from orchestrator.domain.event.base import Done, Event, Intent, PurposeIntent
from orchestrator.domain.ids import CommitId, SessionId, TaskId, TreeId, UnitId
from orchestrator.domain.judging.verdict import LensVote, Verdict
from orchestrator.domain.mcp.tool_definition import OfferedServer, ServerFailure
from orchestrator.domain.run.grant import Grant
from orchestrator.domain.run.plan import Plan
from orchestrator.domain.run.program_calls import ProgramCalls
from orchestrator.domain.run.task import Attempt, EndCause, Exit, Handoff, Task, TaskStatus
from orchestrator.domain.sandbox.network import NetworkDecision
from orchestrator.domain.sandbox.tier import Tier, ToolReach
from orchestrator.domain.text.blob_text import Text


class TurnIntent(Intent):
    """An intent in one turn of a conversation; `turn` counts from 0."""

    session: SessionId
    turn: int


class TurnDone(Done):
    """What follows an intent in one turn of a conversation."""

    session: SessionId
    turn: int


class TaskCreated(Event, kind="task.created"):
    """A task joined the plan tree."""

    spec: Task


class PlanningStarted(Event, kind="planning.started"):
    """A planner begins a round: the first, or one woken by handoffs."""

    round: int


class PlanSubmitted(Event, kind="plan.submitted"):
    """A planner's plan was accepted; its tasks follow as `task.created`."""

    round: int
    plan: Plan


class PlanRefused(Event, kind="plan.refused"):
    """A planner's plan broke the rules; the problems went back to it."""

    round: int
    problems: tuple[str, ...]


class PlanKept(Event, kind="plan.kept"):
    """A planner leaves its plan as it is while its tasks are at work.

    With a handoff it needs nothing more, unless one of them ends otherwise than it should.
    """

    round: int
    reason: str = ""
    handoff: Handoff | None = None


class TaskReplaced(Event, kind="task.replaced"):
    """A later task of the same planner takes the place of this one: what depends on it waits for that one instead."""

    by: TaskId


class RivalChosen(Event, kind="rival.chosen"):
    """Of the tasks that try the same as this one, which is the first of them, one was chosen to land.

    `model` is who chose; empty where nobody had to be asked, or gave an answer.
    """

    chosen: TaskId
    reasons: tuple[str, ...] = ()
    model: str = ""


class PlanningEnded(Event, kind="planning.ended"):
    """A planner's slice is finished."""

    round: int
    handoff: Handoff


class AttemptStarted(Event, kind="attempt.started"):
    """A worker begins a try at the task.

    `engine` is the guest that works; empty for the house's own loop. `policy` is the hash of the policy files; empty
    where there is none.
    """

    attempt: Attempt
    engine: str = ""
    policy: str = ""


class AttemptEnded(Event, kind="attempt.ended"):
    """The worker's session is over; a handoff exists only if it finished by itself."""

    number: int
    exit: Exit
    detail: str = ""
    handoff: Handoff | None = None


class WorkspaceLeasing(PurposeIntent, kind="workspace.leasing"):
    """A workspace is about to be prepared at a commit."""

    commit: CommitId


class WorkspaceLeased(Done, kind="workspace.leased"):
    """The workspace stands ready; `name` is its directory in the pool, `host` its host: empty for the engine's own."""

    name: str
    host: str = ""


class CandidateTaking(Intent, kind="candidate.taking"):
    """The harness is about to snapshot an attempt's workspace."""

    number: int


class CandidateTaken(Done, kind="candidate.taken"):
    """The snapshot stands under `ref`; `dropped` names what the snapshot gate left out, `flagged` what it let pass
    but a reviewer should look at. `verifier_tests` are files of the verifier's that the harness added to what the
    worker left.
    """

    number: int
    commit: CommitId
    tree: TreeId
    ref: str
    paths: tuple[str, ...]
    added: int
    removed: int
    dropped: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()
    verifier_tests: tuple[str, ...] = ()


class CandidateComposed(Event, kind="candidate.composed"):
    """The judge tests a candidate as it would land: on top of `tip`, where the branch stands, and of these `units`.

    They have passed their tests and wait for their landing. `commit` and `tree` are those of all together.
    """

    number: int
    tip: CommitId
    units: tuple[UnitId, ...]
    commit: CommitId
    tree: TreeId


class VerdictGiven(Event, kind="verdict.given"):
    """The judge decided on an attempt's candidate."""

    number: int
    verdict: Verdict


class LensVoted(Event, kind="lens.voted"):
    """One review of a candidate, logged so that it can be held against what became of it."""

    number: int
    vote: LensVote


class GrantDecided(Event, kind="grant.decided"):
    """A wish for a grant was decided on: `number` counts those of the task from 1, `why` is what it was asked for."""

    number: int
    grants: tuple[Grant, ...]
    why: str = ""
    is_allowed: bool
    reason: str = ""
    by: str = "planner"


class TaskEnded(Event, kind="task.ended"):
    """The task reached a terminal status; old journals do not name the cause."""

    status: TaskStatus
    reason: str
    cause: EndCause | None = None


class SessionStarted(Event, kind="session.started"):
    """A conversation begins: who speaks, on which model, with which prompt, and what it is told first.

    One that `continues` another begins with all that was said there, up to and with `turn` if that is given, and
    `brief` is what is said next. So conversations form a tree, whose nodes are turns. `tool_chars` is the size of the
    tools on offer, 0 where it was not recorded; `servers` are those of MCP whose tools are among them.
    """

    session: SessionId
    role: Role
    model: str
    prompt: str
    system: Text
    brief: Text
    continues: SessionId | None = None
    turn: int | None = None
    tool_chars: int = 0
    servers: tuple[OfferedServer, ...] = ()


class ModelCalled(TurnIntent, kind="model.called"):
    """A model is about to be asked. If no done event follows, the call may have been billed.

    `reserved` is what it may cost, as estimated before; the budget counts it until the call is settled.
    `request` is the sha256 of what it is asked (`orchestrator.llm.request_digest`), `prompt` the sha of the prompt
    behind it; both are empty in old journals.
    """

    role: Role
    model: str
    reserved: Usage = Field(default_factory=Usage)
    request: str = ""
    prompt: str = ""


class ModelReplied(TurnDone, kind="model.replied"):
    """The model's answer, with the model that says it gave it.

    `reasoning` is its thinking to be read, `reasoning_blocks` the same as JSON text as its provider signed it;
    `is_reasoning_withheld` tells that these held a secret. Old journals have none of the three.
    """

    role: Role
    model: str
    text: Text
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str
    usage: Usage
    seconds: float
    reasoning: Text = Text()
    reasoning_blocks: Text = Text()
    is_reasoning_withheld: bool = False


class ModelFailed(TurnDone, kind="model.failed"):
    """One try of a model call failed; `retry_in_s` is None when it is not tried again.

    The error `lost` means that the engine died during the call: it may have been billed. `pool` is the quota pool that
    the provider closed by it, until `opens_at` if it named a time. `may_be_billed` tells that the provider had the
    request and sent nothing that can be used, such as half a reply or one that is too large; old journals do not tell.
    """

    role: Role
    model: str
    error: str
    detail: str
    retry_in_s: float | None
    pool: str = ""
    opens_at: datetime | None = None
    may_be_billed: bool = False


class ToolCalled(TurnIntent, kind="tool.called"):
    """A tool is about to be used, at a tier and under the policy with this hash; old journals have neither.

    `reach` is what the tool works on; None of a tool that the session does not have, and in old journals. `server` is
    the one that it comes from; one that is not `is_repeatable` is not used again by the engine that goes on.
    """

    name: str
    arguments: Text
    tier: Tier | None = None
    policy: str = ""
    reach: ToolReach | None = None
    server: str = ""
    is_repeatable: bool = True


class ToolReturned(TurnDone, kind="tool.returned"):
    """The tool's result for the model; `ok` is false for refusals and failures.

    `network` is what its command reached of the network, and what it was kept from.
    `stray_packets` counts what a command tried to send and had no way out for; old journals do not tell.
    `program` are the calls of tools that a program of code mode made; None of other tools, and where none is known.
    `failure` is why the tool of a server gave no answer of its own.
    """

    call_id: str
    name: str
    ok: bool
    observation: Text
    seconds: float
    network: tuple[NetworkDecision, ...] = ()
    stray_packets: int = 0
    program: ProgramCalls | None = None
    failure: ServerFailure | None = None


class SnapshotTaking(TurnIntent, kind="snapshot.taking"):
    """The workspace is about to be kept after a turn that may have changed it."""


class SnapshotTaken(TurnDone, kind="snapshot.taken"):
    """The workspace's content stands in git as `tree`."""

    tree: TreeId


class TurnEnded(Event, kind="turn.ended"):
    """All tools of a turn have returned; `tree` is the workspace's content, from which the session can go on.

    With `is_interrupted` a person's words came before the model's reply, which is left unused if it came at all.
    """

    session: SessionId
    turn: int
    tree: TreeId | None
    nudge: str = ""
    is_interrupted: bool = False


class ContextFilled(Event, kind="session.context-filled"):
    """The conversation fills too much of the model's context: `turn` is asked for a carryover by `words`, nothing else.

    `tokens` is how much it fills, as estimated, of `context_tokens`.
    """

    session: SessionId
    turn: int
    words: Text
    tokens: int
    context_tokens: int


class ConversationCarriedOver(Event, kind="session.carried-over"):
    """The session goes on with a fresh context: `words` stand for its turns before `turn`.

    `by_harness` tells that the model gave no carryover, so that the harness made one of what was done.
    """

    session: SessionId
    turn: int
    words: Text
    by_harness: bool = False


class SessionEnded(Event, kind="session.ended"):
    """A conversation is over."""

    session: SessionId
    exit: Exit
    detail: str = ""

"""Commands of people to a run. They wait in its inbox until an engine takes them."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer

from orchestrator.domain.frozen_model import FrozenModel, fix_field
from orchestrator.domain.ids import CRITERION_ID_PATTERN, SessionId, TaskId
from orchestrator.domain.run.contract import Criterion
from orchestrator.domain.run.person_review import ReviewComment
from orchestrator.domain.run.plan import Plan


class _BaseCommand(FrozenModel):
    """The base of all commands: `do`, named behind the base, says which one it is, also where defaults are left out."""

    do: str = ""

    def __init_subclass__(cls, do: str, **options: Any) -> None:  # noqa: ANN401  pydantic's own
        super().__init_subclass__(**options)
        fix_field(cls, "do", do)

    @model_serializer(mode="wrap")
    def _dump_with_name(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"do": self.do, **handler(self)}


class Approve(_BaseCommand, do="approve"):
    """Answer an approval with yes. `plan` is what a person made of the plan that waits; None leaves it as it is."""

    item: str
    reason: str = ""
    plan: Plan | None = None


class SendBack(_BaseCommand, do="send-back"):
    """Send back what waits to whoever made it, with what is to be changed: a note, comments on lines, or both."""

    item: str
    note: str = ""
    comments: tuple[ReviewComment, ...] = ()


class Reject(_BaseCommand, do="reject"):
    """Answer an approval with no; the reason goes to whoever asked."""

    item: str
    reason: str = ""


class Deny(Reject, do="deny"):
    """A rejection by the name that earlier versions had for it."""


class Pause(_BaseCommand, do="pause"):
    """Stop at the next model call or command; nothing begins before `continue`."""

    reason: str = ""


class Continue(_BaseCommand, do="continue"):
    """Go on after a pause."""


class Stop(_BaseCommand, do="stop"):
    """End the engine; `resume` goes on. What Ctrl-C and SIGTERM mean to the terminal that follows the run.

    `drain` lets what is running finish and begins nothing new; the others stop at once.
    """

    how: Literal["drain", "interrupt", "terminate"] = "drain"
    process: int | None = None
    """The engine that is meant; one that only starts acts on it too."""


class Cancel(_BaseCommand, do="cancel"):
    """Give up a task with all below it, or the whole run."""

    task: TaskId | None = None
    reason: str = ""


class Retry(_BaseCommand, do="retry"):
    """Try a task again: afresh, or from the end of a turn of an earlier attempt.

    `attempt` is the one whose `turn` (from 0) is gone on from; the latest if not given. `note` is for the worker.
    `grants` are what the task may do from now on besides what its plan grants, each as `PATH:INTENT[,INTENT…]`.
    """

    task: TaskId
    note: str = ""
    grants: tuple[str, ...] = ()
    attempt: int | None = None
    turn: int | None = None


class StopCall(_BaseCommand, do="stop-call"):
    """End the command that a conversation waits for, and nothing else: its model is told so and goes on.

    `call` is the one that is meant, as `tool/SESSION/TURN/INDEX`; whichever runs, if it is empty.
    """

    session: SessionId
    call: str = ""
    reason: str = ""


class Tell(_BaseCommand, do="tell"):
    """Say something to whoever works on a task, before its next turn; or, where nobody does, before its first.

    With `is_now` the model call or the command that it waits for is ended first.
    """

    task: TaskId
    note: str
    is_now: bool = False


class Configure(_BaseCommand, do="configure"):
    """Change settings of the run from now on: nested values as in config.toml.

    With `is_all` they are all that holds: nothing counts any more that was set before, not even hooks.
    """

    settings: dict[str, Any]
    is_all: bool = False


class AddCriterion(_BaseCommand, do="add-criterion"):
    """Ask for one thing more in the contract."""

    criterion: Criterion

    @field_validator("criterion")
    @classmethod
    def _check_name(cls, criterion: Criterion) -> Criterion:
        if re.fullmatch(CRITERION_ID_PATTERN, criterion.id) is None:
            raise ValueError(f"{criterion.id!r} is no id of a criterion: lower-case letters, digits and hyphens")
        return criterion


class DropCriterion(_BaseCommand, do="drop-criterion"):
    """Ask for one thing less in the contract."""

    id: str
    reason: str = ""


class SkipFiles(_BaseCommand, do="skip-files"):
    """Leave files of a migration out."""

    files: tuple[str, ...]
    reason: str = ""


class RetryFiles(_BaseCommand, do="retry-files"):
    """Let files of a migration climb the ladder again from its first rung. `note` is for the models on it."""

    files: tuple[str, ...]
    note: str = ""


class HoldShard(_BaseCommand, do="hold-shard"):
    """Keep a shard back: nothing of it begins or lands before it is released."""

    shard: str
    reason: str = ""


class ReleaseShard(_BaseCommand, do="release-shard"):
    """Let a shard go on that was held."""

    shard: str


class RollbackShards(_BaseCommand, do="rollback-shards"):
    """Take back what shards have landed, as far as the rest stays green without it."""

    shards: tuple[str, ...]
    reason: str = ""


class Publish(_BaseCommand, do="publish"):
    """Open the pull requests of these groups (of all, if none is named) now, however many are open."""

    groups: tuple[str, ...] = ()


class Revise(_BaseCommand, do="revise"):
    """Go on by another recipe; only the files that it makes a difference to are done again."""

    recipe: dict[str, Any]


class Cordon(_BaseCommand, do="cordon"):
    """Open nothing new on a host; what runs there goes on."""

    host: str


class Uncordon(_BaseCommand, do="uncordon"):
    """Use a host again that is cordoned, or was to leave."""

    host: str


class Drain(_BaseCommand, do="drain-host"):
    """Open nothing new on a host, and have it leave when its last workspace is closed."""

    host: str


GoalCommand = (
    Approve
    | SendBack
    | Reject
    | Deny
    | Pause
    | Continue
    | Stop
    | Cancel
    | Retry
    | StopCall
    | Tell
    | Configure
    | AddCriterion
    | DropCriterion
)
"""The commands that are not for migrations alone."""
MigrationCommand = SkipFiles | RetryFiles | HoldShard | ReleaseShard | RollbackShards | Publish | Revise
"""The commands that make sense for migrations only."""
HostCommand = Cordon | Uncordon | Drain
"""The commands about hosts, which make sense for both."""
Command = Annotated[GoalCommand | MigrationCommand | HostCommand, Field(discriminator="do")]


class InboxCommand(FrozenModel):
    """A command as it lies in the inbox. Of two with the same key only the first one counts."""

    key: str
    at: datetime
    by: str
    command: Command

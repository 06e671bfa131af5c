"""Commands of people to a run. They wait in its inbox until an engine takes them."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CRITERION_ID_PATTERN, SessionId, TaskId
from orchestrator.domain.run.contract import Criterion


class _BaseCommand(FrozenModel):
    """The base of all commands: `do` says which one it is, also where defaults are left out."""

    do: str

    @model_serializer(mode="wrap")
    def _dump_with_name(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"do": self.do, **handler(self)}


class Approve(_BaseCommand):
    """Answer an approval with yes."""

    do: Literal["approve"] = "approve"
    item: str
    reason: str = ""


class Deny(_BaseCommand):
    """Answer an approval with no; the reason goes to whoever asked."""

    do: Literal["deny"] = "deny"
    item: str
    reason: str = ""


class Pause(_BaseCommand):
    """Stop at the next model call or command; nothing begins before `continue`."""

    do: Literal["pause"] = "pause"
    reason: str = ""


class Continue(_BaseCommand):
    """Go on after a pause."""

    do: Literal["continue"] = "continue"


class Stop(_BaseCommand):
    """End the engine; `resume` goes on. What Ctrl-C and SIGTERM mean to the terminal that follows the run.

    `drain` lets what is running finish and begins nothing new; the others stop at once.
    """

    do: Literal["stop"] = "stop"
    how: Literal["drain", "interrupt", "terminate"] = "drain"
    process: int | None = None
    """The engine that is meant; one that only starts acts on it too."""


class Cancel(_BaseCommand):
    """Give up a task with all below it, or the whole run."""

    do: Literal["cancel"] = "cancel"
    task: TaskId | None = None
    reason: str = ""


class Retry(_BaseCommand):
    """Try a task again: afresh, or from the end of a turn of an earlier attempt.

    `attempt` is the one whose `turn` (from 0) is gone on from; the latest if not given. `note` is for the worker.
    """

    do: Literal["retry"] = "retry"
    task: TaskId
    note: str = ""
    attempt: int | None = None
    turn: int | None = None


class StopCall(_BaseCommand):
    """End the command that a conversation waits for, and nothing else: its model is told so and goes on.

    `call` is the one that is meant, as `tool/SESSION/TURN/INDEX`; whichever runs, if it is empty.
    """

    do: Literal["stop-call"] = "stop-call"
    session: SessionId
    call: str = ""
    reason: str = ""


class Configure(_BaseCommand):
    """Change settings of the run from now on: nested values as in config.toml.

    With `is_all` they are all that holds: nothing counts any more that was set before, not even hooks.
    """

    do: Literal["configure"] = "configure"
    settings: dict[str, Any]
    is_all: bool = False


class AddCriterion(_BaseCommand):
    """Ask for one thing more in the contract."""

    do: Literal["add-criterion"] = "add-criterion"
    criterion: Criterion

    @field_validator("criterion")
    @classmethod
    def _check_name(cls, criterion: Criterion) -> Criterion:
        if re.fullmatch(CRITERION_ID_PATTERN, criterion.id) is None:
            raise ValueError(f"{criterion.id!r} is no id of a criterion: lower-case letters, digits and hyphens")
        return criterion


class DropCriterion(_BaseCommand):
    """Ask for one thing less in the contract."""

    do: Literal["drop-criterion"] = "drop-criterion"
    id: str
    reason: str = ""


class SkipFiles(_BaseCommand):
    """Leave files of a migration out."""

    do: Literal["skip-files"] = "skip-files"
    files: tuple[str, ...]
    reason: str = ""


class RetryFiles(_BaseCommand):
    """Let files of a migration climb the ladder again from its first rung. `note` is for the models on it."""

    do: Literal["retry-files"] = "retry-files"
    files: tuple[str, ...]
    note: str = ""


class HoldShard(_BaseCommand):
    """Keep a shard back: nothing of it begins or lands before it is released."""

    do: Literal["hold-shard"] = "hold-shard"
    shard: str
    reason: str = ""


class ReleaseShard(_BaseCommand):
    """Let a shard go on that was held."""

    do: Literal["release-shard"] = "release-shard"
    shard: str


class RollbackShards(_BaseCommand):
    """Take back what shards have landed, as far as the rest stays green without it."""

    do: Literal["rollback-shards"] = "rollback-shards"
    shards: tuple[str, ...]
    reason: str = ""


class Publish(_BaseCommand):
    """Open the pull requests of these groups (of all, if none is named) now, however many are open."""

    do: Literal["publish"] = "publish"
    groups: tuple[str, ...] = ()


class Revise(_BaseCommand):
    """Go on by another recipe; only the files that it makes a difference to are done again."""

    do: Literal["revise"] = "revise"
    recipe: dict[str, Any]


GoalCommand = (
    Approve | Deny | Pause | Continue | Stop | Cancel | Retry | StopCall | Configure | AddCriterion | DropCriterion
)
"""The commands that are not for migrations alone."""
MigrationCommand = SkipFiles | RetryFiles | HoldShard | ReleaseShard | RollbackShards | Publish | Revise
"""The commands that make sense for migrations only."""
Command = Annotated[GoalCommand | MigrationCommand, Field(discriminator="do")]


class InboxCommand(FrozenModel):
    """A command as it lies in the inbox. Of two with the same key only the first one counts."""

    key: str
    at: datetime
    by: str
    command: Command

"""`orchestrate migrate hold`, `release` and `rollback`: what people say of shards."""

from typing import Any

import click

from orchestrator.cli.control.commands import deliver_command, find_commanded_run
from orchestrator.cli.options import json_option, repository_options
from orchestrator.domain.commands.definitions import HoldShard, ReleaseShard, RollbackShards
from orchestrator.errors import UsageProblem
from orchestrator.run_control.migration_commands import list_landed_shards

_REASON = click.option("--reason", default="", help="Why; it is kept, and shown to whoever it concerns.")
_NO_WAKE = click.option("--no-wake", is_flag=True, help="Do not start an engine; the next one acts on it.")


@click.command("hold")
@click.argument("run")
@click.argument("shard")
@_REASON
@repository_options
@json_option
def hold_command(run: str, shard: str, reason: str, **given: Any) -> None:  # noqa: ANN401
    """Keep SHARD of RUN back: nothing of it begins or lands before it is released.

    \b
    orchestrate migrate hold latest payments --reason "they release this week"
    """
    place, state = find_commanded_run(run, given)
    command = HoldShard(shard=shard, reason=reason)
    deliver_command(place, state, command, wake=state.ended is not None, as_json=given["as_json"])


@click.command("release")
@click.argument("run")
@click.argument("shard")
@_NO_WAKE
@repository_options
@json_option
def release_command(run: str, shard: str, no_wake: bool, **given: Any) -> None:  # noqa: ANN401
    """Let SHARD of RUN go on that was held.

    \b
    orchestrate migrate release latest payments
    """
    place, state = find_commanded_run(run, given)
    deliver_command(place, state, ReleaseShard(shard=shard), wake=not no_wake, as_json=given["as_json"])


@click.command("rollback")
@click.argument("run")
@click.argument("shards", nargs=-1, metavar="SHARD…")
@click.option("--all", "is_all", is_flag=True, help="Every shard that has landed.")
@_REASON
@_NO_WAKE
@repository_options
@json_option
def rollback_command(
    run: str,
    shards: tuple[str, ...],
    is_all: bool,
    reason: str,
    no_wake: bool,
    **given: Any,  # noqa: ANN401
) -> None:
    """Take back what shards of RUN have landed, as far as the rest stays green without it.

    Each is one commit more on the branch, which is tested before it lands; open pull requests are brought up to date.

    \b
    orchestrate migrate rollback latest payments --reason "slower by a third"
    orchestrate migrate rollback 7f3a --all
    """
    if bool(shards) == is_all:
        raise UsageProblem("name the shards to take back, or say --all")
    place, state = find_commanded_run(run, given)
    if is_all:
        names = list_landed_shards(state)
    else:
        names = shards
    deliver_command(
        place, state, RollbackShards(shards=names, reason=reason), wake=not no_wake, as_json=given["as_json"]
    )

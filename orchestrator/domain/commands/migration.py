"""The effect of people's commands on a migration, and the reason why one that makes no sense is refused.

An ended run is open again after any of them that leaves it something to do.
"""

from collections.abc import Collection, Iterable
from functools import singledispatch
from operator import attrgetter
from typing import Any

from orchestrator.domain.commands import definitions
from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.fold.migration import restart_ladder
from orchestrator.domain.fold.record_updates import format_reason, reopen_run, update_file, update_shard
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.model import Recipe, read_recorded_recipe
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.suggestions import suggest_names

ALL_GROUPS = "*"
"""The entry of `RunState.published` for all groups."""
FIXED_RECIPE_PARTS = ("migration.id", "scope", "shard", "env")
"""The parts of a recipe that a revision cannot change: the files, their division, and where they are judged."""
_SHOWN = 5


def explain_migration_refusal(state: RunState, command: Command) -> str:
    """Return the reason why a command of a migration cannot be carried out now; empty when it can."""
    if state.run.mode != "migration":
        return "this run carries a goal: files, shards and recipes are a migration's"
    return _explain_refusal(command, state)


def find_changed_fixed_parts(old: Recipe, new: Recipe) -> tuple[str, ...]:
    """Return the parts in which two recipes differ although a revision cannot change them."""
    return tuple(part for part in FIXED_RECIPE_PARTS if attrgetter(part)(old) != attrgetter(part)(new))


@singledispatch
def _explain_refusal(_command: Command, _state: RunState) -> str:
    return ""


@_explain_refusal.register
def _(command: definitions.SkipFiles, state: RunState) -> str:
    if missing := _explain_unknown_name("file", command.files, state.migration.files):
        return missing
    files = [state.migration.files[path] for path in command.files]
    if landed := _select_files(files, {FileStatus.MERGED}):
        shard = state.migration.find_shard_of_file(landed[0].path)
        name = shard.name if shard else "SHARD"
        return f"{_format_files(landed)} landed: take its shard back instead (migrate rollback RUN {name})"
    if len(_select_files(files, {FileStatus.SKIPPED})) == len(files):
        return f"{_format_files(files)} was left out already"
    return ""


@_explain_refusal.register
def _(command: definitions.RetryFiles, state: RunState) -> str:
    if missing := _explain_unknown_name("file", command.files, state.migration.files):
        return missing
    files = [state.migration.files[path] for path in command.files]
    if landed := _select_files(files, {FileStatus.MERGED}):
        return f"{_format_files(landed)} landed: there is nothing to try again"
    if under_way := [file for file in files if not file.status.is_terminal]:
        return f"{_format_files(under_way)} is on its way ({under_way[0].status}): it has not failed yet"
    return ""


@_explain_refusal.register
def _(command: definitions.HoldShard, state: RunState) -> str:
    if missing := _explain_unknown_name("shard", (command.shard,), state.migration.shards):
        return missing
    shard = state.migration.shards[command.shard]
    if shard.commit is not None:
        return f"{shard.name} has landed: take it back instead (migrate rollback RUN {shard.name})"
    if shard.held:
        return f"{shard.name} is {shard.held}"
    return ""


@_explain_refusal.register
def _(command: definitions.ReleaseShard, state: RunState) -> str:
    if missing := _explain_unknown_name("shard", (command.shard,), state.migration.shards):
        return missing
    if state.migration.shards[command.shard].held:
        return ""
    return f"{command.shard} is not held"


@_explain_refusal.register
def _(command: definitions.RollbackShards, state: RunState) -> str:
    if missing := _explain_unknown_name("shard", command.shards, state.migration.shards):
        return missing
    shards = [state.migration.shards[name] for name in command.shards]
    for shard in shards:
        if shard.is_reverted:
            return f"{shard.name} was taken back already"
        if shard.commit is None:
            return f"{shard.name} has not landed: hold it instead (migrate hold RUN {shard.name})"
    return ""


@_explain_refusal.register
def _(_command: definitions.Publish, state: RunState) -> str:
    if state.landings:
        return ""
    return "nothing has landed, so there is no pull request to open"


@_explain_refusal.register
def _(command: definitions.Revise, state: RunState) -> str:
    old, new = state.migration.wished_recipe, read_recorded_recipe(command.recipe)
    if new == old:
        return "the recipe is the one that the run has"
    if old is not None and (changed := find_changed_fixed_parts(old, new)):
        parts = ", ".join(name if "." in name else f"[{name}]" for name in changed)
        return f"a revision cannot change {parts}: begin a new run; what stays the same comes from the cache"
    return ""


def _explain_unknown_name(subject: str, names: Iterable[str], known: Iterable[str]) -> str:
    """Return which of the names does not exist, with those that it may have been meant for."""
    names, known = tuple(names), list(known)
    if not names:
        return f"no {subject} is named"
    wrong = next((name for name in names if name not in known), None)
    if wrong is None:
        return ""
    problem = f"there is no {subject} {wrong!r} in this run"
    if suggestion := suggest_names(wrong, known):
        return f"{problem}: {suggestion}"
    if not known:
        return f"{problem}: there are 0"
    examples = known[:_SHOWN]
    if len(known) > _SHOWN:
        examples.append("…")
    return f"{problem}: there are {len(known)}: {', '.join(examples)}"


def _select_files(files: Iterable[FileRecord], statuses: Collection[FileStatus]) -> list[FileRecord]:
    return [file for file in files if file.status in statuses]


def _format_files(files: list[FileRecord]) -> str:
    if len(files) == 1:
        return files[0].path
    return f"{files[0].path} (and {len(files) - 1} more)"


@singledispatch
def apply_migration_command(_command: Command, _state: RunState, _by: str) -> None:
    """Change the state as the command says."""


@apply_migration_command.register
def _(command: definitions.SkipFiles, state: RunState, by: str) -> None:
    reason = format_reason("left out", command.reason, by)
    for path in command.files:
        status = state.migration.files[path].status
        if status != FileStatus.SKIPPED:
            is_overtaken = not status.is_terminal
            update_file(state, path, FileStatus.SKIPPED, reason=reason, signature="", is_overtaken=is_overtaken)


@apply_migration_command.register
def _(command: definitions.RetryFiles, state: RunState, _by: str) -> None:
    restart_ladder(state, tuple(dict.fromkeys(command.files)))
    wave = state.migration.current_wave_number
    for path in command.files:
        update_file(state, path, note=command.note, after_wave=wave, is_asked_for=True)
    state.goal.rejudge_count += 1
    reopen_run(state)


@apply_migration_command.register
def _(command: definitions.HoldShard, state: RunState, by: str) -> None:
    update_shard(state, command.shard, held=format_reason("held", command.reason, by))


@apply_migration_command.register
def _(command: definitions.ReleaseShard, state: RunState, _by: str) -> None:
    update_shard(state, command.shard, held="", after_wave=state.migration.current_wave_number)
    reopen_run(state)


@apply_migration_command.register
def _(command: definitions.RollbackShards, state: RunState, by: str) -> None:
    migration = state.migration
    migration.requested_rollbacks = tuple(dict.fromkeys((*migration.requested_rollbacks, *command.shards)))
    migration.rollback_reasons |= dict.fromkeys(command.shards, format_reason("taken back", command.reason, by))
    reopen_run(state)


@apply_migration_command.register
def _(command: definitions.Publish, state: RunState, _by: str) -> None:
    groups = (*state.migration.requested_publications, *(command.groups or (ALL_GROUPS,)))
    state.migration.requested_publications = tuple(dict.fromkeys(groups))
    reopen_run(state)


@apply_migration_command.register
def _(command: definitions.Revise, state: RunState, _by: str) -> None:
    request_revision(state, command.recipe)


def request_revision(state: RunState, recipe: dict[str, Any]) -> None:
    """Have the run continue with another recipe once it can tell which files that concerns."""
    state.migration.requested_recipe = read_recorded_recipe(recipe)
    reopen_run(state)

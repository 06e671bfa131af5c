"""Resolve the files, shards and groups that a person names in a command to a migration."""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from orchestrator.config.live_config import build_effective_config
from orchestrator.domain.commands.definitions import Publish, Revise
from orchestrator.domain.commands.goal import explain_refusal
from orchestrator.domain.commands.migration import find_changed_fixed_parts
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import join_limited
from orchestrator.domain.text.suggestions import suggest_names
from orchestrator.errors import UsageProblem
from orchestrator.migrate.landing.pr_groups import TOGETHER, group_shards
from orchestrator.migrate.landing.pull_requests import list_openable_groups
from orchestrator.migrate.recipe.toml_writer import diff_recipes
from orchestrator.run_control.control import RunLocation, predict_state

_FAILED = frozenset({FileStatus.REJECTED, FileStatus.UNCHANGED, FileStatus.NEEDS_HUMAN})
_SHOWN = 10


@dataclass(frozen=True)
class FileSelection:
    """A selection of files: these paths, or all that failed, of either only what fits the other fields.

    `reason` and `signature` are parts of what the files failed of, in any case.
    """

    paths: Sequence[str] = ()
    failed: bool = False
    reason: str = ""
    signature: str = ""
    shard: str = ""

    @property
    def is_empty(self) -> bool:
        """True if no field selects anything."""
        return not (self.paths or self.failed or self.reason or self.signature or self.shard)

    def matches_file(self, file: FileRecord, shard: frozenset[str] | None) -> bool:
        """Return True if a file is selected; `shard` are the paths of the selected shard, None for any."""
        if shard is not None and file.path not in shard:
            return False
        if self.failed and file.status not in _FAILED:
            return False
        has_reason = self.reason.lower() in file.reason.lower()
        return has_reason and self.signature.lower() in file.signature.lower()


def select_files(location: RunLocation, state: RunState, selection: FileSelection) -> tuple[str, ...]:
    """Return the paths that a selection means.

    Raises:
        UsageProblem: nothing is said, no file fits, or there is no such shard.
    """
    if selection.is_empty:
        raise UsageProblem("say which files: PATH…, --failed, --reason TEXT, --signature TEXT or --shard SHARD")
    shard = _list_shard_files(state, selection.shard) if selection.shard else None
    paths = resolve_tracked_paths(location, state, selection.paths)
    unknown = [path for path in paths if path not in state.migration.files]
    if unknown:
        return tuple(unknown)  # whoever takes the command names what is like it
    statuses = _FAILED
    if selection.shard and not selection.failed:
        statuses = _FAILED | {FileStatus.REVERTED, FileStatus.SKIPPED}
    candidates = [state.migration.files[path] for path in paths]
    if not paths:
        candidates = [file for file in state.migration.files.values() if file.status in statuses]
    found = tuple(file.path for file in candidates if selection.matches_file(file, shard))
    if not found:
        failed = sum(file.status in _FAILED for file in state.migration.files.values())
        raise UsageProblem(f"no file is meant by that; {failed} of {len(state.migration.files)} files have failed")
    return found


def resolve_tracked_paths(location: RunLocation, state: RunState, paths: Sequence[str]) -> tuple[str, ...]:
    """Return paths as the repository has them, for paths relative to the current directory."""
    return tuple(map(partial(_resolve_tracked_path, location, state), paths))


def _resolve_tracked_path(location: RunLocation, state: RunState, path: str) -> str:
    plain = posixpath.normpath(path)
    absolute = Path.cwd() / path
    if plain not in state.migration.files and absolute.is_relative_to(location.repository.root):
        tracked = posixpath.normpath(absolute.relative_to(location.repository.root).as_posix())
        if tracked in state.migration.files:
            return tracked
    return plain


def _list_shard_files(state: RunState, name: str) -> frozenset[str]:
    if name not in state.migration.shards:
        raise UsageProblem(_explain_unknown("shard", name, list(state.migration.shards)))
    return frozenset(state.migration.shards[name].files)


def list_landed_shards(state: RunState) -> tuple[str, ...]:
    """Return every shard that can be taken back.

    Raises:
        UsageProblem: there is none.
    """
    names = tuple(shard.name for shard in state.migration.shards.values() if shard.commit and not shard.is_reverted)
    if not names:
        raise UsageProblem("no shard has landed that could be taken back")
    return names


def build_publish_command(state: RunState, groups: Sequence[str]) -> Publish:
    """Return the command to open the pull requests of these groups, or of all if none is named.

    Raises:
        UsageProblem: there is no such group.
    """
    if groups and state.migration.recipe is not None:
        known = []
        for group in group_shards(state, state.migration.recipe):
            known.append(group.name)
        for name in groups:
            if name not in (*known, TOGETHER):
                raise UsageProblem(_explain_unknown("group of landed shards", name, known))
    return Publish(groups=tuple(groups))


def _explain_unknown(kind: str, name: str, known: list[str]) -> str:
    otherwise = "there is none"
    if known:
        otherwise = f"there are {join_limited(known, _SHOWN)}"
    hint = suggest_names(name, known, otherwise)
    return f"there is no {kind} {name!r} in this run: {hint}"


def build_revise_command(location: RunLocation, state: RunState, recipe: Recipe) -> tuple[Revise, str]:
    """Return the command to go on by another recipe, and the difference to the current one as a diff. Blocks.

    Raises:
        UsageProblem: the run cannot go on by it.
    """
    command = Revise(recipe=recipe.dump_values())
    current = state.migration.require_recipe()
    after = predict_state(location, state)
    if why := explain_refusal(after, command):
        changed = find_changed_fixed_parts(after.migration.wished_recipe or current, recipe)
        raise UsageProblem(why, tuple(changed[0].split(".")) if changed else ())
    return command, diff_recipes(current, recipe)


async def list_due_groups(location: RunLocation, state: RunState) -> tuple[str, ...]:
    """Return the groups of an ended migration whose pull requests have waited and may be opened by now."""
    recipe = state.migration.require_recipe()
    is_one = state.pr is not None and not state.pr.group
    if state.ended is None or not recipe.merge.has_groups or is_one or TOGETHER in state.migration.prs:
        return ()
    return await list_openable_groups(location.repository.git, state, recipe, build_effective_config(state).pr.push)

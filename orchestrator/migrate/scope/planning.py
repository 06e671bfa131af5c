"""Plan a migration: find its files, leave out what is not asked for, and divide the rest into shards in order."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType

from pathspec import GitIgnoreSpec

from orchestrator.domain.event.migration import FileMoved, FilesFound, ShardsPlanned
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.shard import ShardRules
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.domain.text.suggestions import suggest_names
from orchestrator.errors import UsageProblem
from orchestrator.judge.selection.import_graph import build_import_graph, read_import_graph
from orchestrator.migrate.ladder.passes import build_end_moves
from orchestrator.migrate.scope.inventory import take_inventory
from orchestrator.migrate.sharding.sampling import choose_sample
from orchestrator.migrate.sharding.shards import DivisionInputs, plan_shards
from orchestrator.migrate.sites.command_search import CommandSource, read_command_output
from orchestrator.migrate.sites.finder import needs_workspace
from orchestrator.ports.hands import Workspace
from worktrees.git import Git

OWNER_PREFIX, SHARD_PREFIX = "owner:", "shard:"
UNOWNED = "nobody"
"""The owner of what has none."""


_NO_LINES: Mapping[str, int] = MappingProxyType({})
_NO_NAMES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class WorkFilter:
    """`only` holds globs as in .gitignore, `owner:NAME` and `shard:NAME`; empty for everything.

    `sample` is how many files go first, instead of what the recipe says; 0 for no sample.
    """

    only: tuple[str, ...] = ()
    sample: int | None = None

    @property
    def names_shards(self) -> bool:
        """True if it takes a division into shards to tell what is meant."""
        return any(wish.startswith(SHARD_PREFIX) for wish in self.only)

    def apply_sample(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the sample that is asked for."""
        if self.sample is None:
            return recipe
        changes: dict[str, object] = {"files": self.sample, "paths": ()}
        if recipe.sample.pick == "list":
            changes["pick"] = "stratified"
        return recipe.model_copy(update={"sample": recipe.sample.model_copy(update=changes)})

    def build_skips(self, files: Sequence[FileRecord], shards: Sequence[Shard] = ()) -> list[FileMoved]:
        """Return the moves that leave out what is not asked for.

        Args:
            files: those that the migration would work on.
            shards: how they would be divided, where shards are named.

        Raises:
            UsageProblem: one of the wishes means none of the files.
        """
        if not self.only:
            return []
        selected: set[str] = set()
        for wish in self.only:
            selected.update(_select_paths(wish, files, shards))
        left_out = [file for file in files if file.path not in selected]
        reason = f"not asked for: this run is only for {', '.join(self.only)}"
        return build_end_moves(left_out, FileStatus.SKIPPED, reason)


EVERYTHING = WorkFilter()


def _select_paths(wish: str, files: Sequence[FileRecord], shards: Sequence[Shard]) -> Sequence[str]:
    """Return the paths that a wish means; `wish` is what a person wrote, so its prefix says its kind."""
    paths = [file.path for file in files]
    if wish.startswith(OWNER_PREFIX):
        return _find_named(wish, wish.removeprefix(OWNER_PREFIX), _group_by_owner(files), len(files))
    if wish.startswith(SHARD_PREFIX):
        return _find_named(
            wish, wish.removeprefix(SHARD_PREFIX), {shard.name: shard.files for shard in shards}, len(files)
        )
    if not (found := list(filter(_build_matcher(wish), paths))):
        places = set(paths)
        for path in paths:
            places.update(map(str, PurePosixPath(path).parents))
        raise UsageProblem(_explain_nothing(wish, len(files), wish.rstrip("/*"), places - {"."}, "is it in [scope]?"))
    return found


def _group_by_owner(files: Iterable[FileRecord]) -> Mapping[str, Sequence[str]]:
    owned: dict[str, list[str]] = {}
    for file in files:
        for owner in file.owner.split() or [UNOWNED]:
            owned.setdefault(owner, []).append(file.path)
    return owned


def _find_named(wish: str, name: str, known: Mapping[str, Sequence[str]], total: int) -> Sequence[str]:
    """Return what is known under the name; an owner's @ may be left out."""
    found = known.get(name) or known.get(f"@{name}")
    if not found:
        raise UsageProblem(_explain_nothing(wish, total, name, known, f"there are {', '.join(sorted(known)[:8])}"))
    return found


def _build_matcher(glob: str) -> Callable[[str], bool]:
    try:
        return GitIgnoreSpec.from_lines([glob]).match_file
    except (ValueError, re.error) as error:
        raise UsageProblem(f"--only {glob!r} is no glob: {error}") from error


def _explain_nothing(wish: str, total: int, name: str, known: Iterable[str], otherwise: str) -> str:
    hint = suggest_names(name, sorted(known), otherwise)
    return f"--only {wish!r} means none of the {total} files that the migration would work on: {hint}"


def needs_hands(recipe: Recipe) -> bool:
    """Return True if the inventory or the division into shards takes a workspace to run commands in."""
    return needs_workspace(recipe.work_scope) or "command" in recipe.shard.by


async def plan_migration(
    git: Git, base: CommitId, recipe: Recipe, workspace: Workspace | None = None, asked: WorkFilter = EVERYTHING
) -> tuple[FilesFound | FileMoved | ShardsPlanned | Noticed, ...]:
    """Return the events that begin a migration: the files, what was left out, and the first division into shards.

    What is not asked for is skipped. It is divided all the same, apart, so that a person can have it tried later.

    Raises:
        OrchestrateError: as `take_inventory` and `divide_files` do, or nothing is what is asked for.
    """
    found = await take_inventory(git, base, recipe, workspace)
    files: list[FileRecord] = []
    for event in found:
        if isinstance(event, FilesFound):
            files += (file.build_record() for file in event.files)
    whole: tuple[Shard, ...] = ()
    if not asked.only or asked.names_shards:
        whole = await divide_files(git, base, recipe, files, workspace)
    if not asked.only:
        return (*found, ShardsPlanned(shards=whole)) if whole else found
    moves = asked.build_skips(select_divisible_files(recipe, files), whole)
    out = {move.path for move in moves}
    shards = await divide_files(git, base, recipe, [file for file in files if file.path not in out], workspace)
    others = [file for file in files if file.path in out]
    if others:
        stable = recipe.model_copy(update={"shard": recipe.shard.model_copy(update={"stable": True})})
        shards += await divide_files(git, base, stable, others, workspace, started=shards)
    return *found, *moves, ShardsPlanned(shards=shards)


async def divide_files(
    git: Git,
    base: CommitId,
    recipe: Recipe,
    files: Sequence[FileRecord],
    workspace: Workspace | None = None,
    started: Sequence[Shard] = (),
    changed_lines: Mapping[str, int] = _NO_LINES,
) -> tuple[Shard, ...]:
    """Return new shards in order, the sample first if nothing has started, of the files that any step may take.

    Args:
        git: of the repository.
        base: the commit whose imports count.
        recipe: says how to divide.
        files: all files as they stand; those that a started shard has stay with it.
        workspace: one at the base, where the recipe divides by a command.
        started: the shards that have begun. Without `stable` only those of them that have landed keep their files.
        changed_lines: how many lines really change, where that is known.

    Raises:
        UsageProblem: the command or the list of the sample cannot be used.
        EnvironmentProblem: the command could not be started.
    """
    wanted, rules = select_divisible_files(recipe, files), recipe.shard
    paths = [file.path for file in wanted]
    graph, clusters, names = build_import_graph({}), _NO_NAMES, _NO_NAMES
    if "import-cluster" in rules.by or rules.order == "leaves-first":
        graph = await read_import_graph(git, base)
    if "import-cluster" in rules.by:
        clusters = graph.name_clusters(paths, rules.max_files)
    if "command" in rules.by:
        names = await _ask_shard_names(rules, paths, workspace)
    inputs = DivisionInputs(clusters, names, changed_lines, graph.leaves_first)
    kept = [shard for shard in started if rules.stable or shard.commit]
    sample: tuple[str, ...] = ()
    wants_sample = recipe.sample.files or recipe.sample.pick == "list"
    if not started and wants_sample and not recipe.has_tree_step:
        sample = choose_sample(wanted, recipe.sample, rules.pair)
    return plan_shards(wanted, rules, inputs, kept, sample)


def select_divisible_files(recipe: Recipe, files: Sequence[FileRecord]) -> list[FileRecord]:
    """Return the files that a step may take: with sites, or all if none are counted or a step takes files without."""
    takes_all = not recipe.work_scope.site or any(step.when == "always" for step in recipe.step)
    return [file for file in files if (takes_all or file.sites) and file.status != FileStatus.SKIPPED]


async def _ask_shard_names(rules: ShardRules, paths: Sequence[str], workspace: Workspace | None) -> Mapping[str, str]:
    """Return the shard that the recipe's command names for each path; a path that it leaves out has none."""
    if workspace is None:
        raise UsageProblem("by = 'command' needs a sandbox to run its command in", ("shard", "by"))
    what = CommandSource("the division into shards", ("shard", "run"))
    printed = await read_command_output(what, rules.run, workspace, "".join(f"{path}\n" for path in paths))
    known, named = set(paths), {}
    for number, line in enumerate(printed.splitlines(), start=1):
        path, tab, name = line.partition("\t")
        if line.strip() and not (tab and name.strip()):
            shown = to_one_line(line)[:200]
            text = f"{what.name}: line {number} of what its command printed is no path<TAB>shard: {shown!r}"
            raise UsageProblem(text, what.key)
        if path in known:
            named[path] = to_one_line(name)
    return named

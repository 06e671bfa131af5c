"""What a migration begins with: the files found, and their shards in order."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType

from orchestrator.domain.event.migration import FileMoved, FilesFound, ShardsPlanned
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe import Recipe, ShardRules
from orchestrator.migrate.scope.inventory import take_inventory
from orchestrator.migrate.scope.work_filter import EVERYTHING, WorkFilter
from orchestrator.migrate.sharding.import_graph import ImportGraph, build_import_graph, read_import_graph
from orchestrator.migrate.sharding.sampling import choose_sample
from orchestrator.migrate.sharding.shards import DivisionInputs, plan_shards
from orchestrator.migrate.sites.command_search import CommandSource, read_command_output
from orchestrator.migrate.sites.finder import needs_workspace
from orchestrator.ports.hands import Workspace
from worktrees.git import Git

_NO_LINES: Mapping[str, int] = MappingProxyType({})


def needs_hands(recipe: Recipe) -> bool:
    """Whether the inventory or the division into shards takes a workspace to run commands in."""
    return needs_workspace(recipe.work_scope) or "command" in recipe.shard.by


async def plan_migration(
    git: Git, base: CommitId, recipe: Recipe, workspace: Workspace | None = None, asked: WorkFilter = EVERYTHING
) -> tuple[FilesFound | FileMoved | ShardsPlanned | Noticed, ...]:
    """The events that begin a migration: the files, what was left out of them, and the first division into shards.

    What is not asked for is skipped. It is divided all the same, apart, so that a person can have it tried later.

    Raises:
        OrchestrateError: as `take_inventory` and `divide` do, or nothing is what is asked for.
    """
    found = await take_inventory(git, base, recipe, workspace)
    files = []
    for event in found:
        if isinstance(event, FilesFound):
            for file in event.files:
                files.append(file.build_record())
    whole = await divide_files(git, base, recipe, files, workspace) if not asked.only or asked.names_shards else ()
    if not asked.only:
        return *found, *((ShardsPlanned(shards=whole),) if whole else ())
    moves = asked.build_skips(select_divisible_files(recipe, files), whole)
    out = {move.path for move in moves}
    shards = await divide_files(git, base, recipe, [file for file in files if file.path not in out], workspace)
    others = [file for file in files if file.path in out]
    kept = recipe.model_copy(update={"shard": recipe.shard.model_copy(update={"stable": True})})
    rest = await divide_files(git, base, kept, others, workspace, started=shards) if others else ()
    return *found, *moves, ShardsPlanned(shards=(*shards, *rest))


async def divide_files(
    git: Git,
    base: CommitId,
    recipe: Recipe,
    files: Sequence[FileRecord],
    workspace: Workspace | None = None,
    started: Sequence[Shard] = (),
    changed_lines: Mapping[str, int] = _NO_LINES,
) -> tuple[Shard, ...]:
    """New shards in order, the sample first if nothing has started, for the files that any step may take.

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
    wanted = select_divisible_files(recipe, files)
    rules, paths = recipe.shard, [file.path for file in wanted]
    needs_imports = "import-cluster" in rules.by or rules.order == "leaves-first"
    if needs_imports:
        graph = await read_import_graph(git, base)
    else:
        graph = build_import_graph({})
    grounds = DivisionInputs(
        clusters=_clusters(graph, paths, rules.max_files) if "import-cluster" in rules.by else {},
        commanded=await _commanded(rules, paths, workspace) if "command" in rules.by else {},
        changed_lines=changed_lines,
        leaves_first=graph.leaves_first,
    )
    if rules.stable:
        kept = started
    else:
        kept = [shard for shard in started if shard.commit]
    wants_sample = (recipe.sample.files or recipe.sample.pick == "list") and not started
    sample = choose_sample(wanted, recipe.sample, rules.pair) if wants_sample else ()
    return plan_shards(wanted, rules, grounds, kept, sample)


def select_divisible_files(recipe: Recipe, files: Sequence[FileRecord]) -> list[FileRecord]:
    """The files that a step may take: with sites, or all if none are counted or a step takes files without them."""
    takes_all = not recipe.work_scope.site or any(step.when == "always" for step in recipe.step)
    return [file for file in files if (takes_all or file.sites) and file.status != FileStatus.SKIPPED]


def _clusters(graph: ImportGraph, paths: Sequence[str], limit: int) -> Mapping[str, str]:
    """Path to the name of its cluster: that of the cluster's first file."""
    known = [path for path in paths if path in graph.imports]
    return {
        path: str(PurePosixPath(group[0]).with_suffix(""))
        for group in graph.cluster_paths(known, limit)
        for path in group
    }


async def _commanded(rules: ShardRules, paths: Sequence[str], workspace: Workspace | None) -> Mapping[str, str]:
    """Path to the shard that the recipe's command names; a path that it leaves out has none."""
    if workspace is None:
        raise UsageProblem("by = 'command' needs a sandbox to run its command in", ("shard", "by"))
    what = CommandSource("the division into shards", ("shard", "run"))
    printed = await read_command_output(what, rules.run, workspace, "".join(f"{path}\n" for path in paths))
    known, named = set(paths), {}
    for number, line in enumerate(printed.splitlines(), start=1):
        path, tab, name = line.partition("\t")
        if line.strip() and not (tab and name.strip()):
            shown = to_one_line(line)[:200]
            told = f"{what.name}: line {number} of what its command printed is no path<TAB>shard: {shown!r}"
            raise UsageProblem(told, what.key)
        if path in known:
            named[path] = to_one_line(name)
    return named

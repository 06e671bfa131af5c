"""Plan a migration: find its files, and divide them into shards in order."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from orchestrator.domain.event.migration import FileMoved, FilesFound, ShardsPlanned
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.shard import ShardRules
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import UsageProblem
from orchestrator.migrate.scope.inventory import take_inventory
from orchestrator.migrate.scope.work_filter import EVERYTHING, WorkFilter
from orchestrator.migrate.sharding.import_graph import build_import_graph, read_import_graph
from orchestrator.migrate.sharding.sampling import choose_sample
from orchestrator.migrate.sharding.shards import DivisionInputs, plan_shards
from orchestrator.migrate.sites.command_search import CommandSource, read_command_output
from orchestrator.migrate.sites.finder import needs_workspace
from orchestrator.ports.hands import Workspace
from worktrees.git import Git

_NO_LINES: Mapping[str, int] = MappingProxyType({})
_NO_NAMES: Mapping[str, str] = MappingProxyType({})


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
    if not started and (recipe.sample.files or recipe.sample.pick == "list"):
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

"""Dividing the files of a migration into its sample and its shards, once, before the first wave."""

from orchestrator.domain.event.migration import ShardsPlanned
from orchestrator.domain.migration import FileRecord, Shard
from orchestrator.engine.context import RunContext
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.sampling import SAMPLE, choose_sample
from orchestrator.migrate.shards import plan_shards


async def plan(context: RunContext, recipe: Recipe) -> None:
    """Book the shards, unless an earlier process has."""
    if context.state.shards:
        return
    files = in_question(list(context.state.files.values()), recipe)
    await context.journal.append(ShardsPlanned(shards=divide(files, recipe)))


def in_question(files: list[FileRecord], recipe: Recipe) -> list[FileRecord]:
    """The files that a step may take: where sites are counted, those that have one."""
    takes_all = not recipe.scope.site or any(step.when == "always" for step in recipe.step)
    return files if takes_all else [file for file in files if file.sites]


def divide(files: list[FileRecord], recipe: Recipe) -> tuple[Shard, ...]:
    """The sample, if the recipe asks for one, and the other shards in their order."""
    sample = frozenset(choose_sample(files, recipe.sample, recipe.shard.pair))
    rest = [file for file in files if file.path not in sample]
    first = (Shard(name=SAMPLE, files=tuple(f.path for f in files if f.path in sample)),) if sample else ()
    return (*first, *plan_shards(rest, recipe.shard))

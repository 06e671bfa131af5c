"""How many sites files have while they climb the ladder."""

from collections.abc import Mapping, Sequence

from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.run.purpose import Purpose
from orchestrator.engine.context import RunContext
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.sites.finder import count_remaining_sites, needs_workspace
from worktrees.object_store.trees import read_blobs


async def count_current_sites(context: RunContext, recipe: Recipe, files: Sequence[FileRecord]) -> Mapping[str, int]:
    """By path, the sites of the content that stands for each file, in the surroundings of the PR branch.

    Raises:
        UsageProblem: a command that finds sites cannot be used.
        EnvironmentProblem: it could not be started, or no workspace could be had.
    """
    blobs = await read_blobs(context.repository.git, [file.blob or file.branch_blob for file in files])
    contents = {}
    for file in files:
        contents[file.path] = blobs[file.blob or file.branch_blob]
    if not needs_workspace(recipe.work_scope) or not files:
        return await count_remaining_sites(recipe.work_scope, contents)
    workspace = await context.hands.open_workspace(await context.read_start_commit(), Purpose("count sites"))
    try:
        return await count_remaining_sites(recipe.work_scope, contents, workspace)
    finally:
        await workspace.close()

"""`migrate run --dry-run`: a migration as far as its first queue, in a scratch directory that is removed."""

import os
from dataclasses import dataclass, replace
from typing import Any

from anyio import to_thread

from orchestrator.app.beginning import begin_run, grants
from orchestrator.app.deps import DEPS
from orchestrator.app.earlier import earlier_runs
from orchestrator.app.options import Options, Surroundings, look_around
from orchestrator.app.place import Place
from orchestrator.app.scratch import Scratch, scratch
from orchestrator.app.surveying import surveyed_at
from orchestrator.app.wiring import Means, Watcher, open_run
from orchestrator.config.layers import merged
from orchestrator.config.model import Config
from orchestrator.domain.ids import CommitId
from orchestrator.engine.begin import NewRun
from orchestrator.migrate.asked import EVERYTHING, Asked
from orchestrator.migrate.dry_report import dry_report
from orchestrator.migrate.dry_run import DryRun
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.scope.inventory import base_of
from orchestrator.migrate.steps.knowledge import knowledge

_ALONE = {"pr": {"push": "", "forge": "local"}, "approval": {"mode": "auto", "expires_s": 0}}
_LEFT_OUT = {"hooks", "notify"}
"""Nobody outside is asked or told anything."""


@dataclass(frozen=True)
class DryWishes:
    """What is asked for; with `verify` the gate is run as well, with `diff` the report has the unified diff."""

    asked: Asked = EVERYTHING
    verify: bool = False
    diff: bool = False


async def dry_run(
    options: Options, recipe: Recipe, wishes: DryWishes, watcher: Watcher | None = None
) -> dict[str, Any]:
    """Try a recipe, and report: `orchestrate.dry-run/1`.

    Repository, checkout, refs, objects and runs stay as they are. Results of steps are taken from earlier runs where
    they are known. What `[env]` installs is kept in the state directory, as for every run.

    Raises:
        OrchestrateError: as `begin_migration` does, or it had to stop.
    """
    around = await to_thread.run_sync(look_around, options)
    base = await base_of(around.repository.git, recipe, around.repository.head())
    with scratch(around.repository, around.state, keep=False) as place:
        run = await _begun(_inside(around, place), around, wishes.asked.of(recipe), base, wishes.asked)
        async with open_run(run, watcher, Means(deps=around.state.path / DEPS)) as context:
            knowledge(context).earlier = around.state.runs()
            slots = context.config.hands.slots or len(os.sched_getaffinity(0))
            only_sample = bool(wishes.asked.sample)
            tried = await DryRun(context, slots, only_sample=only_sample, verify=wishes.verify).execute()
            return await dry_report(place.repository.git, context.state, tried, wants_diff=wishes.diff)


def _inside(around: Surroundings, place: Scratch) -> Surroundings:
    """The same in the scratch directory, with settings that reach nobody outside."""
    settings = around.config.model_dump(mode="json", by_alias=True, exclude=_LEFT_OUT)
    config = Config.model_validate(merged(settings, _ALONE))
    return Surroundings(place.repository, replace(around.loaded, config=config), place.state)


async def _begun(inside: Surroundings, around: Surroundings, recipe: Recipe, base: CommitId, asked: Asked) -> Place:
    found = await surveyed_at(inside, recipe, base, asked, around.state.path / DEPS)
    found = (*found, *await earlier_runs(around, recipe, base, found))
    new = NewRun("migration", recipe.title, f"migrate/{recipe.migration.id}/", recipe.dump(), found, base)
    return await begin_run(inside, new, *grants(inside.config, recipe))

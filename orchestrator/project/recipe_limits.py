"""Apply the money and time limits of a recipe's `[stop]` to the run."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator.config.layers import merge_settings
from orchestrator.config.model import Config
from orchestrator.domain.recipe.merge import StopRules
from orchestrator.project.options import ProjectContext


def apply_recipe_limits(project: ProjectContext, stop: StopRules) -> ProjectContext:
    """Return the project with the lower of both limits: a recipe only ever lowers what the user set (0: no limit)."""
    config = project.config
    changes = {
        "budget": {"usd": choose_lower_limit(config.budget.usd, stop.budget_usd)},
        "run": {"time_limit_s": choose_lower_limit(config.run.time_limit_s, stop.wall_s)},
    }
    return replace(project, loaded=replace(project.loaded, config=_change_config(config, changes)))


def choose_lower_limit(of_user: float, of_recipe: float) -> float:
    """Return the lower of two limits, of which 0 means none."""
    limits = [limit for limit in (of_user, of_recipe) if limit > 0]
    return min(limits, default=0)


def _change_config(config: Config, changes: Mapping[str, Any]) -> Config:
    return Config.model_validate(merge_settings(config.model_dump(mode="json", by_alias=True), changes))

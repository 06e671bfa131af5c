"""The two environments of a migration: that of the baseline and that of the verdict, each as an `[env]` of its own."""

from typing import Literal

from orchestrator.domain.recipe.scope import RecipeEnv

EnvironmentName = Literal["before", "after"]
ENVIRONMENT_NAMES: tuple[EnvironmentName, ...] = ("before", "after")


def select_environment(env: RecipeEnv, name: EnvironmentName) -> RecipeEnv:
    """Return what one environment needs: what both have in common, and its own. Its own directories come first on PATH.

    The result has one environment only, which is the same before and after.
    """
    own, vars_, directories = env.after, env.vars_after, env.read_only_after
    if name == "before":
        own, vars_, directories = env.before, env.vars_before, env.read_only_before
    changes = {"read_only": (*directories, *env.read_only), "vars": env.vars | vars_, "setup": (*env.setup, *own)}
    common = {"share", "deps", "compat", "network"}
    return RecipeEnv(**env.model_dump(include=common), **changes)

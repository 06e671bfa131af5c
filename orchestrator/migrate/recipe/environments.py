"""The two environments of a migration: that of the baseline and that of the verdict, each as an `[env]` of its own."""

from typing import Literal

from orchestrator.migrate.recipe import RecipeEnv

EnvironmentName = Literal["before", "after"]
ENVIRONMENT_NAMES: tuple[EnvironmentName, ...] = ("before", "after")


def select_environment(env: RecipeEnv, world: EnvironmentName) -> RecipeEnv:
    """What one world needs: what both have in common, and then its own. Its own directories come first on PATH.

    What comes back has one world only, so that it is its own `env_of` in either.
    """
    is_before = world == "before"
    return RecipeEnv(
        share=env.share,
        read_only=(*(env.read_only_before if is_before else env.read_only_after), *env.read_only),
        vars=env.vars | (env.vars_before if is_before else env.vars_after),
        deps=env.deps,
        setup=(*env.setup, *(env.before if is_before else env.after)),
        compat=env.compat,
        network=env.network,
    )

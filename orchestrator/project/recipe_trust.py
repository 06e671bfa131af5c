"""Decide by its author which places of this machine a recipe may open by its `[env]`."""

from collections.abc import Iterator
from pathlib import Path

from orchestrator.domain.paths.dependencies import DEPENDENCY_PATTERNS, is_dependency_pattern
from orchestrator.domain.recipe.model import Recipe, RecipeEnv
from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe import load_recipe
from orchestrator.project.options import Options, open_repository
from worktrees.repositories.repository import GitRepository

_DIRECTORIES = ("read_only", "tools", "read_only_before", "read_only_after")


def load_trusted_recipe(options: Options, path: Path) -> Recipe:
    """Read a recipe that is to be followed. Blocks.

    One that the repository being worked on tracks is the repository's, and has only dependencies of the checkout
    shown; one that lies anywhere else is the user's own.

    Raises:
        UsageProblem: as `load_recipe` does; a recipe of the repository's opens more than that, and is not trusted.
    """
    recipe = load_recipe(path)
    if options.trust_project or not (exposed := list(iterate_exposed_paths(recipe.env))):
        return recipe
    if is_tracked(open_repository(options.repository), path):
        key, value = exposed[0]
        text = (
            f"{key} under [env] may not show {value!r} to commands, but dependencies of the checkout alone, "
            f"such as {', '.join(DEPENDENCY_PATTERNS)}, because the recipe is part of the repository being "
            "worked on: give it as --read-only DIR or under [hands] or [env] of your own configuration, "
            "or start with --trust-project if you trust this repository"
        )
        raise UsageProblem(text, ("env", value))
    return recipe


def iterate_exposed_paths(env: RecipeEnv) -> Iterator[tuple[str, str]]:
    """Yield key and path of what a recipe shows of this machine beside dependencies of the checkout."""
    for pattern in env.share:
        if not is_dependency_pattern(pattern):
            yield ("share", pattern)
    for key in _DIRECTORIES:
        for directory in getattr(env, key):
            if not _is_dependency(directory):
                yield key, directory


def _is_dependency(directory: str) -> bool:
    is_inside = not directory.startswith(("/", "~")) and ".." not in directory.split("/")
    return is_inside and is_dependency_pattern(directory)


def is_tracked(repository: GitRepository, path: Path) -> bool:
    """Return True if a file is part of the repository. Blocks."""
    location = path.resolve()
    if not location.is_relative_to(repository.root.resolve()):
        return False
    arguments = ("-C", str(repository.root), "ls-files", "--error-unmatch", "--", str(location))
    return repository.checkout_git.run_sync(*arguments, ok=(0, 1)).exit_code == 0

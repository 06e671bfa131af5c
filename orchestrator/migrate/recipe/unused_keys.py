"""Keys of a recipe that would do nothing as the recipe stands.

They are looked for in files only: a run that was begun by such a recipe goes on by it.
"""

import re
from collections.abc import Iterator

from orchestrator.domain.recipe.merge import TITLE_PLACEHOLDERS
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.scope import Site
from orchestrator.domain.recipe.verify import VerifyCheck

Key = tuple[str | int, ...]
_PLACEHOLDER = re.compile(r"\{(?:migration|shard)\.[^{}]*\}")


def find_unused_keys(recipe: Recipe) -> Iterator[tuple[Key, str]]:
    """Each key that would do nothing, and why."""
    for number, site in enumerate(recipe.scope.site):
        for key, why in _of_site(site):
            yield ((*("scope", "site", number), key), why)
    if recipe.shard.run and "command" not in recipe.shard.by:
        yield ("shard", "run"), 'goes with by = ["command"]'
    if recipe.sample.paths and recipe.sample.pick != "list":
        yield ("sample", "paths"), "goes with pick = 'list'"
    for number, check in enumerate(recipe.verify.check):
        for key, why in _of_check(check):
            yield ((*("verify", "check", number), key), why)
    for word in _PLACEHOLDER.findall(recipe.merge.title):
        if word not in TITLE_PLACEHOLDERS:
            yield ("merge", "title"), f"{word} stands for nothing: write one of {', '.join(TITLE_PLACEHOLDERS)}"


def _of_site(site: Site) -> Iterator[tuple[str, str]]:
    if site.language and site.engine != "ast-grep":
        yield "language", "goes with engine = 'ast-grep'"
    if site.run and site.engine != "command":
        yield "run", "goes with engine = 'command'"


def _of_check(check: VerifyCheck) -> Iterator[tuple[str, str]]:
    if check.select and check.tests != "command":
        yield "select", "goes with tests = 'command'"

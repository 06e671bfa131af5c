"""Recipes to begin with. What depends on the repository stands in them as `@word@` and is filled in by `migrate init`.

The comment at the top of each says what it does, for which language it is, and what it needs: `pip` or `npm` packages,
with the versions it was tried with, or a model.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import UsageProblem

NATURAL_LANGUAGE_TEMPLATE = "natural-language"
"""The recipe for a change that is said in words."""
COMMAND_TEMPLATE = "command"
"""The recipe for a codemod of the user's own."""
_HEAD_LINE = compile_lazily(r"^# (language|needs): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class RecipeTemplate:
    """A recipe with `@word@` where a repository's own goes."""

    name: str
    text: str

    @property
    def summary(self) -> str:
        """Its first line."""
        return self.text.partition("\n")[0].removeprefix("# ")

    @cached_property
    def _head_lines(self) -> Mapping[str, tuple[str, ...]]:
        head = self.text.partition("\nschema = ")[0]
        found: dict[str, tuple[str, ...]] = {}
        for name, value in _HEAD_LINE.findall(head):
            found[name] = (*found.get(name, ()), value)
        return found

    @property
    def language(self) -> str:
        """The language of the files it changes; empty for any."""
        return next(iter(self._head_lines.get("language", ())), "")

    @property
    def needs(self) -> tuple[str, ...]:
        """`pip NAME==VERSION …`, `npm NAME@VERSION …` or `model`."""
        return self._head_lines.get("needs", ())

    def has_placeholder(self, word: str) -> bool:
        """Return True if the word stands in it."""
        return f"@{word}@" in self.text


def load_templates() -> dict[str, RecipeTemplate]:
    """Return all templates by name, in alphabetical order."""
    templates = {}
    for file in sorted(files(__name__).iterdir(), key=lambda file: file.name):
        name, _, ending = file.name.rpartition(".")
        if ending == "toml":
            templates[name] = RecipeTemplate(name, file.read_text(encoding="utf-8"))
    return templates


def load_template(name: str) -> RecipeTemplate:
    """Return the template of this name.

    Raises:
        UsageProblem: there is none of this name; names those that there are.
    """
    known = load_templates()
    if name not in known:
        raise UsageProblem(f"there is no recipe {name!r}; there are: {', '.join(known)} (see migrate init --list)")
    return known[name]

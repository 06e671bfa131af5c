"""The rules of the project as the roles see them: texts of its repository, and what of them is missing."""

from collections.abc import Sequence
from typing import Protocol

from orchestrator.domain.frozen_model import FrozenModel


class RuleText(FrozenModel):
    """One file of rules, or what there is room for.

    `directory` is the one that it speaks of, empty for the whole repository. `importer` is the file that brings it in,
    empty for a file of rules itself. `left_out_chars` were cut off at its end.
    """

    path: str
    directory: str
    text: str
    importer: str = ""
    left_out_chars: int = 0


class SelectedRules(FrozenModel):
    """The rules that hold for some paths, the nearest first.

    `unshown` are files that there is no room for, `problems` say what could not be read, in words.
    """

    texts: tuple[RuleText, ...] = ()
    unshown: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def list_cut_files(self) -> tuple[str, ...]:
        """Return the files that are not wholly there for want of room."""
        cut = [rule.path for rule in self.texts if rule.left_out_chars]
        return (*cut, *self.unshown)


NO_RULES = SelectedRules()


class ProjectRules(Protocol):
    """The rules of the project that is worked on."""

    async def select_rules(self, paths: Sequence[str], max_chars: int) -> SelectedRules:
        """Return the rules for work on these paths or globs, and for the whole; at most `max_chars` characters."""


class NoProjectRules:
    """The rules of a project that has none."""

    async def select_rules(self, paths: Sequence[str], max_chars: int) -> SelectedRules:
        """Return no rules."""
        return NO_RULES


NO_PROJECT_RULES = NoProjectRules()

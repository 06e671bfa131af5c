"""A group of verbs whose modules are imported when they are used."""

import gc
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from types import ModuleType
from typing import Any, NamedTuple

import click

from orchestrator.collector_pause import pause_collector

_EXAMPLES = "\b\norchestrate "
"""The beginning of a paragraph of examples, which click prints line by line."""
_SHORT_CHARS = 100


class Verb(NamedTuple):
    """A verb: its module below `orchestrator.cli`, and its line in the list of verbs.

    The module has the command in `COMMANDS` by its name, or defines it as `VERB_command`, with `_` for `-`.
    """

    module: str
    help: str


class LazyGroup(click.Group):
    """A group that lists verbs without importing any, and imports the module of the one that is used."""

    def __init__(
        self,
        verbs: Mapping[str, Verb],
        sections: Mapping[str, Sequence[str]] = {},
        old_verbs: Mapping[str, str] = {},
        **options: Any,  # noqa: ANN401
    ) -> None:
        """Keep the verbs.

        Args:
            verbs: by name.
            sections: the names of verbs that `--help` lists together, by their title.
            old_verbs: names that still work and are not listed, with those of the verbs that they stand for.
            options: those of any group.
        """
        super().__init__(**options)
        self.verbs = verbs
        self._old_verbs = old_verbs
        self._sections = sections or {"Verbs": list(verbs)}

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names of all verbs, in the order of their table."""
        return list(self.verbs)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """Import and return the command of a verb; None if there is no such verb."""
        name = self._old_verbs.get(name, name)
        verb = self.verbs.get(name)
        if verb is None:
            return None
        module = _import_without_collection(f"orchestrator.cli.{verb.module}")
        commands: Mapping[str, click.Command] = getattr(module, "COMMANDS", {})
        if name in commands:
            return _put_examples_first(commands[name])
        command: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
        return _put_examples_first(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the words begin with.

        Raises:
            NoSuchCommand: there is none; it names those that are spelt alike.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=self.verbs, ctx=ctx) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs before the options, which few look for."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs with their lines, group by group."""
        for title, names in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.verbs[name].help) for name in names])


def _put_examples_first(command: click.Command) -> click.Command:
    """Move the examples of a verb, and of those below it, to the beginning of its help. Return the command."""
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _put_examples_first(below)
        return command
    paragraphs = cleandoc(command.help or "").split("\n\n")
    examples = [paragraph for paragraph in paragraphs if paragraph.lstrip().startswith(_EXAMPLES)]
    if examples:
        command.short_help = command.get_short_help_str(_SHORT_CHARS)
        others = [paragraph for paragraph in paragraphs if paragraph not in examples]
        command.help = "\n\n".join(examples + others)
    return command


def _import_without_collection(name: str) -> ModuleType:
    """Import a module, and keep the garbage collector from all that it makes, for good."""
    with pause_collector():
        is_new = name not in sys.modules
        module = import_module(name)
        if is_new:
            gc.freeze()
        return module

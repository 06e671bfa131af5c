"""A group of verbs whose modules are imported when they are used."""

import gc
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import click


class Verb(NamedTuple):
    """A verb: its module below `orchestrator.cli`, and its line in the list of verbs.

    The module has the command in `COMMANDS` by its name, or defines it as `VERB_command`, with `_` for `-`.
    """

    module: str
    help: str


class LazyGroup(click.Group):
    """A group that lists verbs without importing any, and imports the module of the one that is used."""

    def __init__(self, verbs: Mapping[str, Verb], **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self.verbs = verbs

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names of all verbs, in the order of their table."""
        return list(self.verbs)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """Import and return the command of a verb; None if there is no such verb."""
        verb = self.verbs.get(name)
        if verb is None:
            return None
        module = _import_without_collection(f"orchestrator.cli.{verb.module}")
        commands: Mapping[str, click.Command] = getattr(module, "COMMANDS", {})
        if name in commands:
            return commands[name]
        command: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
        return command

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

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs with their lines."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.help) for name, verb in self.verbs.items()])


def _import_without_collection(name: str) -> ModuleType:
    """Import a module with the garbage collector off: it would search all that is made, and none of it is garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if was_enabled:
            gc.enable()

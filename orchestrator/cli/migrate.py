"""`orchestrate migrate`: a group whose verbs are imported when they are used."""

from importlib import import_module
from typing import NamedTuple

import click


class _Verb(NamedTuple):
    """Where a verb is defined, and its line in the list of verbs."""

    module: str
    name: str
    help: str


VERBS = {
    "init": _Verb("migrate_init", "command", "Write a recipe for this repository."),
    "plan": _Verb("migrate_run", "plan", "Show what RECIPE has in scope. Changes nothing."),
    "run": _Verb("migrate_run", "run", "Carry out RECIPE and land every file that is green with the others."),
    "status": _Verb("migrate_status", "command", "Show how far a migration is, or one file or shard of it."),
    "report": _Verb("migrate_report", "command", "Report on a migration: HTML, Markdown, CSV, JSON."),
    "check": _Verb("migrate_check", "command", "Fail if there are more sites than allowed: for CI. Needs no run."),
    "resume": _Verb("migrate_resume", "command", "Go on with a migration that stopped, also by an edited recipe."),
    "retry": _Verb("migrate_files", "retry", "Let files climb the ladder again."),
    "skip": _Verb("migrate_files", "skip", "Leave files out."),
    "hold": _Verb("migrate_shards", "hold", "Keep a shard back."),
    "release": _Verb("migrate_shards", "release", "Let a shard go on that was held."),
    "publish": _Verb("migrate_publish", "command", "Open pull requests that wait."),
    "rollback": _Verb(
        "migrate_shards", "rollback", "Take back what shards have landed, as far as the rest stays green."
    ),
    "schema": _Verb("migrate_schema", "command", "Print the JSON Schema of recipes, for editors."),
}


class _Group(click.Group):
    """Shows its verbs without importing any of them."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """All verbs, in the order of a migration's life."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of one verb.

        Raises:
            UsageError: a recipe stands where the verb should.
        """
        verb = VERBS.get(name)
        if verb is None and name.endswith(".toml"):
            told = f"{name} is no verb: say what to do with the recipe, such as orchestrate migrate plan {name}, or run"
            raise click.UsageError(told, ctx)
        if verb is None:
            return None
        command: click.Command = getattr(import_module(f"orchestrator.cli.{verb.module}"), verb.name)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with their lines."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.help) for name, verb in VERBS.items()])


@click.group("migrate", cls=_Group)
def migrate_command() -> None:
    """Change a whole codebase by recipe: every file through the steps, the union through your tests, the guilty out.

    \b
    orchestrate migrate init --from flynt         a recipe for this repository
    orchestrate migrate plan RECIPE.toml          what is in scope; changes nothing
    orchestrate migrate run RECIPE.toml --json    to a PR branch
    orchestrate migrate status                    how far it is
    orchestrate migrate check RECIPE.toml         whether sites came back
    """

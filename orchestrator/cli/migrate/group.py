"""`orchestrate migrate`: a group whose verbs are imported when they are used."""

import click

from orchestrator.cli.lazy_group import LazyGroup, Verb
from orchestrator.domain.commands.catalog import MIGRATION_VERBS

_CONTROL_VERBS = ("retry", "skip", "hold", "release", "publish", "rollback")
VERBS = {
    "init": Verb("migrate.init", "Write a recipe for this repository."),
    "plan": Verb("migrate.run", "Show what RECIPE has in scope. Changes nothing."),
    "run": Verb("migrate.run", "Carry out RECIPE and land every file that is green with the others."),
    "status": Verb("migrate.status", "Show how far a migration is, or one file or shard of it."),
    "report": Verb("migrate.report", "Report on a migration: HTML, Markdown, CSV, JSON."),
    "check": Verb("migrate.check", "Fail if there are more sites than allowed: for CI. Needs no run."),
    "resume": Verb("migrate.run", "Go on with a migration that stopped, also by an edited recipe."),
    **{name: Verb("migrate.control", MIGRATION_VERBS[name].line) for name in _CONTROL_VERBS},
    "schema": Verb("migrate.init", "Print the JSON Schema of recipes, for editors."),
}


class _MigrateVerbs(LazyGroup):
    """A group that tells those who give a recipe in place of a verb."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import and return the command of a verb; None if there is no such verb.

        Raises:
            UsageError: a recipe stands where the verb should.
        """
        if name.endswith(".toml"):
            text = f"{name} is no verb: say what to do with the recipe, such as orchestrate migrate plan {name}, or run"
            raise click.UsageError(text, ctx)
        return super().get_command(ctx, name)


@click.group("migrate", cls=_MigrateVerbs, verbs=VERBS)
def migrate_command() -> None:
    """Change a whole codebase by recipe: every file through the steps, the union through your tests, the guilty out.

    \b
    orchestrate migrate init --from flynt         a recipe for this repository
    orchestrate migrate plan RECIPE.toml          what is in scope; changes nothing
    orchestrate migrate run RECIPE.toml --json    to a PR branch
    orchestrate migrate status                    how far it is
    orchestrate migrate check RECIPE.toml         whether sites came back
    """

"""`orchestrate ci`: a group whose verbs are imported when they are used."""

from importlib import import_module

import click

VERBS = {
    "run": ("ci_run", "Begin a run, or go on with it where the job before stopped."),
    "publish": ("ci_publish", "Publish what a job left that may only read: state, branches, pull requests."),
    "answer": ("ci_answer", "Answer what a run asks, before the next job goes on with it."),
    "event": ("ci_event", "Tell what the event of a GitHub workflow asks for."),
}


class _Group(click.Group):
    """Shows its verbs without importing any of them."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """All verbs."""
        return list(VERBS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """The command of one verb."""
        if name not in VERBS:
            return None
        command: click.Command = import_module(f"orchestrator.cli.{VERBS[name][0]}").command
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with their lines."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])


@click.group("ci", cls=_Group)
def ci_command() -> None:
    """Carry a run on from job to job of a CI system: each on a fresh clone, each for as long as a job may last.

    \b
    orchestrate ci run "add OAuth login" --key issue-12 --gate "python -m pytest -q" --time-limit 5h30m
    orchestrate ci run --key issue-12 --time-limit 5h30m          the next job goes on
    """

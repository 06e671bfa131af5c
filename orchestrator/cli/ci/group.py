"""`orchestrate ci`: a group whose verbs are imported when they are used."""

import click

from orchestrator.cli.lazy_group import LazyGroup, Verb

VERBS = {
    "run": Verb("ci.verbs", "Begin a run, or go on with it where the job before stopped."),
    "publish": Verb("ci.verbs", "Publish what a job left that may only read: state, branches, pull requests."),
    "answer": Verb("ci.verbs", "Answer what a run asks, before the next job goes on with it."),
    "event": Verb("ci.verbs", "Tell what the event of a GitHub workflow asks for."),
}


@click.group("ci", cls=LazyGroup, verbs=VERBS)
def ci_command() -> None:
    """Carry a run on from job to job of a CI system: each on a fresh clone, each for as long as a job may last.

    \b
    orchestrate ci run "add OAuth login" --key issue-12 --gate "python -m pytest -q" --time-limit 5h30m
    orchestrate ci run --key issue-12 --time-limit 5h30m          the next job goes on
    """

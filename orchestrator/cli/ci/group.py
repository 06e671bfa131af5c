"""`orchestrate ci`: a group whose verbs are imported when they are used."""

import click

from orchestrator.cli.lazy_group import LazyGroup, Verb

VERBS = {
    "run": Verb("ci.verbs", "Begin a run, or go on where the job before stopped."),
    "publish": Verb("ci.verbs", "Publish the work of a job that may only read: state, branches, pull requests."),
    "answer": Verb("ci.verbs", "Answer what a run asks, before the next job goes on with it."),
    "event": Verb("ci.verbs", "Print what the event of a GitHub workflow asks for."),
}


@click.group("ci", cls=LazyGroup, verbs=VERBS)
def ci_command() -> None:
    """Continue a run from one CI job to the next: each on a fresh clone, for as long as a job may last.

    \b
    orchestrate ci run "add OAuth login" --key issue-12 --gate "python3 -m pytest -q" --time-limit 5h30m
    orchestrate ci run --key issue-12 --time-limit 5h30m          the next job goes on
    """

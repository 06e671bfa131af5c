"""`orchestrate hosts`: a group whose verbs are imported when they are used."""

import click

from orchestrator.cli.lazy_group import LazyGroup, Verb

VERBS = {
    "join": Verb("hosts.join", "Let runs use this machine for their commands."),
    "certs": Verb("hosts.certs", "Make certificates for the brain and for hosts."),
}


@click.group("hosts", cls=LazyGroup, verbs=VERBS)
def hosts_command() -> None:
    """Let other machines carry out the commands of a run.

    \b
    orchestrate hosts certs ~/.config/orchestrate/hosts --host builder-1
    """

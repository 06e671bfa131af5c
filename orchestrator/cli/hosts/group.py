"""`orchestrate hosts`: a group whose verbs are imported when they are used."""

import click

from orchestrator.cli.lazy_group import LazyGroup, Verb
from orchestrator.domain.commands.catalog import HOST_VERBS

VERBS = {
    "certs": Verb("hosts.certs", "Make certificates for the brain and for hosts."),
    "join": Verb("hosts.join", "Let runs use this machine for their commands."),
    "status": Verb("hosts.status", "Show the hosts of a run: slots, losses, and what is open there."),
    **{name: Verb("hosts.control", entry.line) for name, entry in HOST_VERBS.items()},
}


@click.group("hosts", cls=LazyGroup, verbs=VERBS)
def hosts_command() -> None:
    """Let other machines carry out the commands and tests of a run; show, drain and keep off those that do.

    \b
    orchestrate hosts certs ~/.config/orchestrate/hosts --host build-1
    orchestrate hosts join brain.example:8786 --certs ~/hosts/build-1
    orchestrate hosts status                      which are there, and what each carries
    orchestrate hosts drain latest build-2        it leaves when nothing is open there
    """

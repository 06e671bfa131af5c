"""`orchestrate criterion`: a person changes what a run has to reach. Nobody else can, once it has begun."""

import click

from orchestrator.cli.control.verbs import RESOLVERS, build_verb
from orchestrator.domain.commands.catalog import CRITERION_VERBS


@click.group("criterion")
def criterion_command() -> None:
    """Change the contract of a run; `orchestrate status RUN` shows it.

    What was or is being judged of the whole is judged anew. A run that has ended keeps the contract it ended with.
    """


for _name, _entry in CRITERION_VERBS.items():
    criterion_command.add_command(build_verb(_name, _entry, RESOLVERS))

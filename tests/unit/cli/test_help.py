"""`--help`: every verb in one section, and an example first."""

import click
import pytest

from orchestrator.cli.main import SECTIONS, VERBS, cli


def test_every_verb_is_in_one_section_of_the_help() -> None:
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(VERBS)


@pytest.mark.parametrize("name", VERBS)
def test_the_help_of_a_verb_begins_with_an_example(name: str) -> None:
    context = click.Context(cli)
    command = cli.get_command(context, name)
    assert command is not None
    if not isinstance(command, click.Group):
        assert command.get_help(click.Context(command)).splitlines()[2].startswith(f"  orchestrate {name}")

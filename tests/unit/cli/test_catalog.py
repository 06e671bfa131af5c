"""Commands for people: one row of the catalog makes the verb of the command line and the command of the dashboard."""

from typing import get_args

import click
import pytest

from orchestrator.cli.control.verbs import RESOLVERS, build_verb
from orchestrator.cli.lazy_group import LazyGroup
from orchestrator.cli.main import cli
from orchestrator.domain.commands.catalog import (
    CRITERION_VERBS,
    GOAL_VERBS,
    HOST_VERBS,
    MIGRATION_VERBS,
    REASON,
    TYPED_COMMANDS,
)
from orchestrator.domain.commands.catalog_entry import CatalogEntry
from orchestrator.domain.commands.definitions import Command, Pause
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.report.command_builder import build_command
from orchestrator.tui.commands.parser import parse_commands

ROWS = (
    *GOAL_VERBS.values(),
    *CRITERION_VERBS.values(),
    *MIGRATION_VERBS.values(),
    *HOST_VERBS.values(),
    *TYPED_COMMANDS.values(),
)
KINDS = {model.model_fields["do"].default: model for model in get_args(get_args(Command)[0])}


def find_command(*names: str) -> click.Command:
    command: click.Command = cli
    for name in names:
        assert isinstance(command, click.Group | LazyGroup)
        found = command.get_command(click.Context(command), name)
        assert found is not None, names
        command = found
    return command


@pytest.mark.parametrize("entry", ROWS, ids=lambda entry: f"{entry.name}-{entry.do}")
def test_a_row_names_a_model_and_only_fields_of_it(entry: CatalogEntry) -> None:
    fields = KINDS[entry.do].model_fields
    assert entry.fixed.keys() <= fields.keys()
    if entry.target in {"", "question", "task", "subtree", "criterion-id", "shard", "host"}:
        assert {option.field_name for option in entry.options} <= fields.keys()


@pytest.mark.parametrize(
    ("group", "verbs"),
    [
        ((), GOAL_VERBS),
        (("criterion",), CRITERION_VERBS),
        (("migrate",), MIGRATION_VERBS),
        (("hosts",), HOST_VERBS),
    ],
)
def test_every_row_is_a_verb_with_its_options(group: tuple[str, ...], verbs: dict[str, CatalogEntry]) -> None:
    for name, entry in verbs.items():
        command = find_command(*group, name)
        options = {option for parameter in command.params for option in parameter.opts}
        assert {f"--{option.name}" for option in entry.options} <= options
        assert ("--no-wake" in options) == (entry.wake == "unless-declined")


def test_a_new_row_is_a_verb_and_a_typed_command_without_further_code(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = CatalogEntry("rest", do="pause", usage="rest", summary="rest", help="Rest RUN.", options=(REASON,))
    monkeypatch.setitem(TYPED_COMMANDS, "rest", entry)

    assert parse_commands("rest a while", (), RunState()) == [Pause(reason="a while")]
    command = build_verb("rest", entry, RESOLVERS)
    assert command.name == "rest"
    assert [parameter.name for parameter in command.params][:2] == ["run", "reason"]


def test_an_attempt_needs_a_turn() -> None:
    with pytest.raises(UsageProblem, match="--attempt says whose turn is meant"):
        build_command(GOAL_VERBS["retry"], {"task": "parser", "attempt": 1, "turn": None})

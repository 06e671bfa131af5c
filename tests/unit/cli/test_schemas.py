"""What verbs print with --json is what its schema says, on recorded runs; and every verb explains itself."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from orchestrator.cli.main import cli
from orchestrator.cli.schemas import SCHEMAS
from orchestrator.errors import OrchestrateError
from tests.running.kept_place import GOAL, MIGRATION, Place, kept_runs
from tests.running.schemas import problems

SOURCE = Path(__file__).parents[3] / "orchestrator"
_NO_RESULT = {"watch", "engine", "diff", "completion", "mcp", "hosts join"}
"""Verbs that print no object: a screen, a service's log, a patch, and a script."""
_OF_FILES = {"orchestrate.run/1", "orchestrate.ci/1", "orchestrate.handover/1"}
"""What names the format of a file that is not for scripts."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return kept_runs(tmp_path_factory.mktemp("recorded"))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("status", GOAL), "status/1"),
        (("status", GOAL, "--filter", "state:done"), "status/1"),
        (("status", MIGRATION), "status/1"),
        (("show", GOAL, "root"), "task/1"),
        (("show", GOAL, "reporting/csv"), "task/1"),
        (("show", MIGRATION, "shop/templates.py"), "file/1"),
        (("cost", GOAL), "cost/1"),
        (("traces", GOAL), "traces/1"),
        (("report", GOAL), "report/1"),
        (("report", GOAL, "--data", "-"), "run-report/1"),
        (("report", MIGRATION, "--data", "-"), "run-report/1"),
        (("inbox", GOAL), "inbox/1"),
        (("repair", GOAL), "repair/1"),
        (("hosts", "status", GOAL), "hosts/1"),
        (("migrate", "status", MIGRATION), "status/1"),
        (("migrate", "status", MIGRATION, "shop/templates.py"), "migration-file/1"),
        *(
            (("migrate", "status", MIGRATION, "--by", by), "migration-groups/1")
            for by in ("dir", "rung", "reason", "shard")
        ),
        (("migrate", "report", MIGRATION), "migration-report/1"),
        (("retro", "--no-model"), "retro/1"),
        (("gc", "--dry-run"), "gc/1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_what_is_printed_of_a_recorded_run_is_as_its_schema_says(
    place: Place, words: tuple[str, ...], name: str
) -> None:
    told = json.loads(place.says(*words, *(() if "--data" in words else ("--json",))))
    assert told["schema"] == f"orchestrate.{name}"
    assert problems(told) == []


def test_each_line_of_logs_is_an_object_of_its_schema(place: Place) -> None:
    lines = place.says("logs", GOAL, "--all", "--json").splitlines()
    assert len(lines) > 100
    assert [found for line in lines for found in problems(json.loads(line), "orchestrate.event/1")] == []
    hits = place.says("logs", GOAL, "--search", "discount", "--json").splitlines()
    assert hits
    assert [found for line in hits for found in problems(json.loads(line), "orchestrate.hit/1")] == []


@pytest.mark.parametrize(
    "words", [("config", "show"), ("config", "show", "--origin"), ("config", "schema")], ids=" ".join
)
def test_what_is_printed_of_the_configuration_is_as_its_schema_says(words: tuple[str, ...]) -> None:
    assert problems(json.loads(CliRunner().invoke(cli, [*words, "--json"]).stdout)) == []


def test_a_schema_is_found_by_the_name_that_objects_give_and_by_a_short_one() -> None:
    for name in ("orchestrate.status/1", "status"):
        assert json.loads(CliRunner().invoke(cli, ["config", "schema", name]).stdout) == SCHEMAS["orchestrate.status/1"]
    refused = CliRunner().invoke(cli, ["config", "schema", "nonsense"])
    assert "nothing is printed under the name 'nonsense'" in str(refused.exception)


def test_every_object_that_the_program_names_has_a_schema() -> None:
    told = {
        found
        for path in SOURCE.rglob("*.py")
        if path.name != "schemas.py"
        for found in re.findall(r'"(orchestrate\.[a-z.-]+/\d+)"', path.read_text(encoding="utf-8"))
    }
    assert len(told) > 25
    assert told - _OF_FILES <= {*SCHEMAS}
    assert {*SCHEMAS} - told == {"orchestrate.event/1", "orchestrate.hit/1"}, "a schema of something nobody prints"


def verbs(command: click.Command, context: click.Context, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    """Every verb that does something, with the words that it is called by."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from verbs(below, click.Context(below, info_name=name, parent=context), (*path, name))


def test_every_verb_has_help_with_an_example_and_can_print_an_object() -> None:
    told = dict(verbs(cli, click.Context(cli), ()))
    assert {"run", "migrate run", "config show", "criterion add"} <= {*told}
    for name, command in told.items():
        shown = CliRunner().invoke(cli, [*name.split(), "--help"])
        assert shown.exit_code == 0, name
        assert f"orchestrate {name}" in shown.stdout.partition("Usage:")[2].partition("\n")[2], f"{name} has no example"
        options = {text for one in command.params for text in one.opts}
        assert ("--json" in options) == (name not in _NO_RESULT), name


def test_a_verb_without_its_words_is_a_mistake_in_its_usage_and_no_traceback() -> None:
    missing: dict[str, Any] = {
        name: CliRunner().invoke(cli, name.split()) for name in ("cancel", "retry", "migrate run")
    }
    assert {name: done.exit_code for name, done in missing.items()} == dict.fromkeys(missing, 2)
    assert all("Missing argument" in done.stderr for done in missing.values())


def test_every_code_that_an_error_ends_with_is_told_in_the_help_of_run() -> None:
    told = CliRunner().invoke(cli, ["run", "--help"]).stdout.partition("Exit codes:")[2].partition("\n\n")[0]
    codes = {kind.exit_code for kind in kinds(OrchestrateError)} - {1}
    assert {int(code) for code in re.findall(r"\b\d+\b", told)} == codes | {0, 3, 4}


def kinds(kind: type[OrchestrateError]) -> Iterator[type[OrchestrateError]]:
    """An error and all that are kinds of it."""
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)

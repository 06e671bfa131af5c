"""A guest's command line, what it is granted, what it says it used, and what is taken out of texts for it."""

import re
import subprocess
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agent.guests.program import (
    GuestReach,
    build_guest_command,
    build_terminal_template,
    find_missing_credentials,
    format_command_line,
)
from orchestrator.agent.guests.used import read_told_usage
from orchestrator.config.engines import EngineSettings
from orchestrator.config.layers import load_config
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import UsageProblem
from orchestrator.project.secrets import build_redactor

DOCS = Path(__file__).parents[3] / "docs" / "engines.md"


def engine(**values: Any) -> EngineSettings:
    """An engine that is a program."""
    return EngineSettings.model_validate({"protocol": "command", "command": ["tool"], **values})


@pytest.mark.parametrize(
    "words", [["printf", "%s|"], ["printf", "%s|", "{prompt}"], ["printf", "%s|", "--task={prompt}"]]
)
def test_a_task_reaches_a_program_as_one_argument_whatever_it_holds(words: list[str]) -> None:
    task = 'it\'s "odd" $HOME `id`\n\nlast line\n'
    line = format_command_line(engine(command=words))
    done = subprocess.run(["/bin/sh", "-c", line], input=task, capture_output=True, text=True, check=True)
    assert done.stdout == f"{'--task=' if '=' in words[-1] else ''}{task}|"


def test_a_program_gets_exactly_the_variables_and_files_that_are_named(tmp_path: Path) -> None:
    (tmp_path / ".tool").mkdir()
    (tmp_path / ".tool/auth.json").write_text("{}")
    wanted = engine(env=["TOOL_KEY"], files=[{"path": "~/.tool/auth.json"}], hosts=["api.example.com:443"])
    environ = {"TOOL_KEY": "k-1", "OTHER_KEY": "k-2"}
    command = build_guest_command(wanted, GuestReach(Tier.REGISTRIES), environ, tmp_path)
    assert command.grant is not None
    assert command.grant.secrets == {"TOOL_KEY": "k-1"}
    assert [(file.source, file.place) for file in command.grant.files] == [
        (str(tmp_path / ".tool/auth.json"), ".tool/auth.json")
    ]
    assert command.tier == Tier.REGISTRIES
    assert "k-1" not in repr(command)


def test_a_terminal_has_the_hosts_of_the_engine_and_none_of_its_credentials(tmp_path: Path) -> None:
    wanted = engine(env=["TOOL_KEY"], vars={"A": "b"}, hosts=["api.example.com:443"], read_only=["~/tools"])
    command = build_terminal_template(wanted, GuestReach(Tier.COMMANDS), tmp_path)
    assert command.grant is not None
    assert command.grant.hosts is not None
    assert command.grant.hosts.hosts == ("api.example.com:443",)
    assert (command.grant.secrets, command.grant.files, command.env) == ({}, (), {})
    assert (command.grant.read_only, command.tier) == ((str(tmp_path / "tools"),), Tier.COMMANDS)


def test_missing_credentials_are_named(tmp_path: Path) -> None:
    wanted = engine(env=["TOOL_KEY"], files=[{"path": "~/.tool/auth.json"}])
    found = list(find_missing_credentials(wanted, {}, tmp_path))
    assert found == ["the variable TOOL_KEY is not set", "there is no file ~/.tool/auth.json"]


@pytest.mark.parametrize(
    ("output", "dollars"),
    [
        ('noise\n{"total": {"usd": 0.25}}\nmore', Decimal("0.25")),
        ('{"total": {"usd": 0.25}}\n{"total": {"usd": 1}}', Decimal("1.0")),
        ('{"total": {"usd": -5}}', None),
        ('{"total": {"usd": "NaN"}}', None),
        ('{"total": {"usd": 1e300}}', None),
        ("nothing", None),
        ('{"total": 3}', None),
    ],
)
def test_costs_are_as_told_or_unknown(output: str, dollars: Decimal | None) -> None:
    usage = read_told_usage(engine(usage={"cost_usd": "total.usd"}), output)
    assert (usage.calls, usage.unpriced_calls) == (1, int(dollars is None))
    assert usage.cost_usd == (dollars or 0)


def test_a_pattern_finds_the_last_cost() -> None:
    usage = read_told_usage(
        engine(cost_pattern=r"Cost: \$([0-9.]+) session"), "Cost: $0.1 session\nCost: $0.3 session\n"
    )
    assert usage.cost_usd == Decimal("0.3")


@pytest.mark.parametrize("trust", [False, True])
def test_a_project_never_names_an_engine(tmp_path: Path, trust: bool) -> None:
    (tmp_path / "orchestrate.toml").write_text('[engines.mine]\nprotocol = "command"\ncommand = ["sh"]\n')
    with pytest.raises(UsageProblem, match="may not be set by the repository being worked on"):
        load_config(tmp_path, environ={"XDG_CONFIG_HOME": str(tmp_path)}, trust_project=trust)


def test_a_worker_of_an_unknown_engine_is_refused_at_its_line(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"no table \[engines.ghost\]"):
        load_config(None, {"roles": {"worker": {"engine": "ghost"}}}, environ={"XDG_CONFIG_HOME": str(tmp_path)})


def test_what_a_guest_holds_is_taken_out_of_texts(tmp_path: Path) -> None:
    (tmp_path / ".tool").mkdir()
    (tmp_path / ".tool/auth.json").write_text('{"access": "abcdefABCDEF0123456789xyz", "kind": "oauth"}')
    table = {"protocol": "command", "command": ["t"], "env": ["TOOL_SEED"], "files": [{"path": "~/.tool/auth.json"}]}
    config = load_config(None, {"engines": {"tool": table}}, environ={"XDG_CONFIG_HOME": str(tmp_path)}).config
    redactor = build_redactor(config, {"TOOL_SEED": "correct-horse-42"}, tmp_path)
    text = redactor.redact_text("it is abcdefABCDEF0123456789xyz and correct-horse-42 of kind oauth")
    assert "abcdef" not in text
    assert "horse" not in text
    assert "of kind oauth" in text


def test_every_preset_of_the_docs_is_a_configuration(tmp_path: Path) -> None:
    tables = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    names = set[str]()
    for table in tables:
        values = tomllib.loads(table)
        load_config(None, values, environ={"XDG_CONFIG_HOME": str(tmp_path)})
        names |= set(values.get("engines", {}))
    assert names >= {"claude", "codex", "gemini", "aider", "opencode", "goose", "mini"}

"""`[[mcp]]`: what a table may say, and that only a user has any."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.config.layers import load_config
from orchestrator.config.mcp import McpServerSettings
from orchestrator.errors import UsageProblem

COMMAND = {"name": "clock", "command": ["clock"]}


def test_a_server_needs_a_name_and_a_way_to_it() -> None:
    settings = McpServerSettings.model_validate(COMMAND)
    assert (settings.roles, settings.tools, settings.approval, int(settings.tier)) == (("worker",), ("*",), "never", 1)
    assert McpServerSettings.model_validate({"name": "web", "url": "http://127.0.0.1:8000/mcp"}).origin


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"name": "clock"}, "needs a command or a url"),
        ({**COMMAND, "url": "https://example.com/mcp"}, "and not both"),
        ({"name": "web", "url": "http://example.com/mcp"}, "without TLS"),
        ({"name": "web", "url": "https://me:secret@example.com/mcp"}, "token_env"),
        ({"name": "web", "url": "https://example.com/mcp", "env": ["KEY"]}, "for servers with a command"),
        ({**COMMAND, "token_env": "TOKEN"}, "token_env is for servers with a url"),
        ({**COMMAND, "hosts": ["example.com:443"]}, "tier = 2"),
        ({**COMMAND, "roles": ["judge"]}, "no workspace"),
        ({**COMMAND, "name": "a__b"}, "pattern"),
        ({**COMMAND, "env": ["KEY=value"]}, "never its value"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words) as refusal:
        McpServerSettings.model_validate(table)
    assert "secret" not in str(refusal.value.errors()[0]["msg"])


@pytest.mark.parametrize("trust", [False, True])
def test_a_repository_names_no_server_however_much_it_is_trusted(tmp_path: Path, trust: bool) -> None:
    (tmp_path / "orchestrate.toml").write_text('[[mcp]]\nname = "clock"\ncommand = ["clock"]\n')
    with pytest.raises(UsageProblem, match="mcp may not be set by the repository"):
        load_config(tmp_path, trust_project=trust, environ={"HOME": str(tmp_path / "home")})


def test_two_servers_have_two_names(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="two tables"):
        load_config(None, {"mcp": [COMMAND, COMMAND]}, environ={"HOME": str(tmp_path)})

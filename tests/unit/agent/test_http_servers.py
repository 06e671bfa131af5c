"""Servers of tools at a url: called by the engine, with their token, bounded, and asked about first."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.event.work import TaskCreated
from orchestrator.domain.mcp.tool_definition import ServerFailure
from orchestrator.domain.run.task import Task
from orchestrator.journal.journal import Journal, SystemClock
from tests.doubles.servers.http_server import HttpToolServer, serve_tools
from tests.running.mcp_servers import TASK, open_talk


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    opened = Journal(tmp_path / "journal", SystemClock())
    task = Task(id=TASK, parent=None, depth=1, title="a", outcome="a", kind="leaf")
    await opened.append(TaskCreated(task=TASK, spec=task))
    yield opened
    opened.close()


def table(server: HttpToolServer, **more: Any) -> dict[str, Any]:
    return {"name": "echoes", "url": server.url, **more}


async def test_a_server_is_called_with_its_token_and_not_before_it_is_needed(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret")
    with serve_tools() as server:
        async with open_talk(journal, None, tmp_path, table(server, token_env="TOKEN")) as talk:
            answer = await talk.use(text="hello")
            assert (answer.is_ok, server.tokens) == (True, {"Bearer s3cret"})
            assert "echo: hello" in answer.text
        server.tokens.clear()
        async with open_talk(journal, None, tmp_path, table(server)) as talk:
            assert "echoes__echo" in talk.spec.tools
            assert server.tokens == set()


async def test_a_flood_over_http_ends_at_the_limit(journal: Journal, tmp_path: Path) -> None:
    with serve_tools("flood") as server:
        async with open_talk(journal, None, tmp_path, table(server)) as talk:
            answer = await talk.use(text="x")
            assert (answer.is_ok, answer.failure) == (False, ServerFailure.FLOODED)


async def test_a_redirect_to_another_host_is_not_followed(journal: Journal, tmp_path: Path) -> None:
    with serve_tools("redirect") as server:
        async with open_talk(journal, None, tmp_path, table(server, timeout_s=5)) as talk:
            answer = await talk.use(text="x")
            assert (answer.is_ok, answer.failure) == (False, ServerFailure.REFUSED)


async def test_a_server_that_is_not_there_costs_its_tools_and_is_told_of(journal: Journal, tmp_path: Path) -> None:
    with serve_tools() as server:
        gone = table(server)
    async with open_talk(journal, None, tmp_path, gone) as talk:
        assert (talk.spec.tools, talk.notices) == ({}, ["echoes/unavailable"])
    assert not any(name.startswith("echoes-") for name in os.listdir(tmp_path))  # noqa: PTH208


async def test_a_role_gets_only_the_tools_that_its_user_allows(journal: Journal, tmp_path: Path) -> None:
    with serve_tools() as server:
        for other in ({"roles": ["planner"]}, {"tools": ["get_*"]}):
            async with open_talk(journal, None, tmp_path, table(server, **other)) as talk:
                assert talk.spec.tools == {}


async def test_a_server_that_the_policy_denies_is_neither_offered_nor_called(journal: Journal, tmp_path: Path) -> None:
    rules = write_rules(tmp_path, '[[rule]]\neffect = "deny"\nmcp = "echoes"\n')
    with serve_tools() as server:
        async with open_talk(journal, None, tmp_path, table(server), rules=rules) as talk:
            assert (talk.spec.tools, server.tokens) == ({}, set())


def write_rules(folder: Path, text: str) -> Path:
    """A policy file with this text."""
    file = folder / "policy.toml"
    file.write_text(text)
    return file

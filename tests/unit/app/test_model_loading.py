"""Loading the library that asks models: workspaces wait for it."""

import threading

import anyio
import pytest

from orchestrator.app.journaled_hands import JournaledHands
from orchestrator.app.model_loading import start_loading_models
from orchestrator.domain.ids import CommitId, TaskId
from orchestrator.domain.purpose import Purpose
from orchestrator.llm.litellm_adapter import client
from tests.doubles.hands import LaidDownHands
from tests.doubles.ledger import MemoryLedger


async def test_a_workspace_is_opened_once_the_library_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    may_end = threading.Event()
    monkeypatch.setattr(client, "load_litellm", may_end.wait)
    inner = LaidDownHands({})
    hands, purpose = JournaledHands(inner, MemoryLedger()), Purpose.for_planning(TaskId("root"))
    start_loading_models()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hands.open_workspace, CommitId("c1"), purpose)
        await anyio.wait_all_tasks_blocked()
        assert inner.purposes == []
        may_end.set()
    assert inner.purposes == [purpose]
    await hands.open_workspace(CommitId("c2"), purpose)
    assert len(inner.purposes) == 2

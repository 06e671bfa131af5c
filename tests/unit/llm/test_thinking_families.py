"""Thinking models of each family through the agent loop and the real litellm, against servers that keep the rules."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agent.history import restore_session
from orchestrator.agent.loop import run_session
from orchestrator.agent.model_calls import ModelCaller
from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tools.files import build_read_tool, build_write_tool
from orchestrator.agent.tools.harness import build_submit_tool
from orchestrator.config.layers import load_config
from orchestrator.config.model import BudgetSettings
from orchestrator.config.roles import Fallback, ModelSettings
from orchestrator.domain.event.work import TaskCreated
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.run.task import Handoff, Task
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.llm.budget import RunBudget
from orchestrator.llm.litellm_adapter.client import LiteLLMClient
from orchestrator.llm.retry import RetryPolicy
from orchestrator.redact.redactor import Redactor
from tests.doubles.workspace import InMemoryWorkspace
from tests.loopback.families import (
    FAMILIES,
    Anthropic,
    ChatCompletions,
    DeepSeek,
    Family,
    Gemini,
    OpenAi,
    Step,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Item '.*' on TypedDict class:UserWarning"),
]

API, SESSION = TaskId("api"), SessionId("work:api@1")
NO_WAIT = RetryPolicy(tries=1, base_s=0, cap_s=0)
STEPS = (
    Step('First "read" it: ünïcode\n', "read", {"path": "a.py"}, is_sealed=True),
    Step("Now write.", "write", {"path": "b.py", "content": "y = 2\n"}),
    Step("That is all.", "finish", {"summary": "all done"}),
)
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}


def settings_for(family: type[Family], url: str, **changes: Any) -> ModelSettings:
    """A worker on a family's server."""
    usual = load_config(None, environ={}).config.roles.worker
    extra = THINKING if family is Anthropic else {}
    place = {"model": family.model, "api_base": url, "api_key_env": "LOOPBACK_KEY", "extra": extra}
    return usual.model_copy(update={**place, "max_output_tokens": 2_000, **changes})


class Bench:
    """A journal and a workspace, in which sessions are held."""

    def __init__(self, directory: Path, secrets: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.journal = Journal(directory, SystemClock(), redactor=Redactor(secrets or {}))
        self.workspace = InMemoryWorkspace({"a.py": b"x = 1\n"})

    async def hold(self, settings: ModelSettings, **changes: Any) -> object:
        workspace = self.workspace
        finish = build_submit_tool("finish", "End.", Handoff)
        tools = index_tools(build_read_tool(workspace), build_write_tool(workspace), finish)
        shared = {"id": SESSION, "role": "worker", "task": API, "prompt": "p", "system": "You work.", "brief": "Task"}
        spec = SessionSpec(**shared, settings=settings, tools=tools, workspace=workspace, anchor="refs/x", **changes)
        async with LiteLLMClient() as client:
            caller = ModelCaller(client, self.journal, NO_WAIT, RunBudget(BudgetSettings()))
            return await run_session(spec, caller, self.journal)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBACK_KEY", "sk-loopback")


@asynccontextmanager
async def bench_in(directory: Path, secrets: Mapping[str, str] | None = None) -> AsyncIterator[Bench]:
    bench = Bench(directory, secrets)
    task = Task(id=API, parent=None, depth=1, kind="leaf", title="t", outcome="o")
    await bench.journal.append(TaskCreated(task=API, spec=task))
    yield bench
    bench.journal.close()


@pytest.mark.parametrize("stall_timeout_s", [0, 20], ids=["whole", "streamed"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
async def test_a_thinking_model_finishes_a_session_with_tools(
    tmp_path: Path, family: type[Family], stall_timeout_s: float
) -> None:
    server = family(STEPS)
    async with server.run() as url, bench_in(tmp_path) as bench:
        result = await bench.hold(settings_for(family, url, stall_timeout_s=stall_timeout_s))
    assert (result, server.refusals) == (Handoff(summary="all done"), [])
    assert bench.workspace.files["b.py"] == b"y = 2\n"
    assert len(server.bodies) == 3

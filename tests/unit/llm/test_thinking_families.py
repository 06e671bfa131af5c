"""Thinking models of each family through the agent loop and the real litellm, against servers that keep the rules."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
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
from orchestrator.domain.chat import Reasoning
from orchestrator.domain.event.work import TaskCreated
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.run.task import Handoff, Task
from orchestrator.errors import ProviderDown
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
    OpenRouter,
    Refusal,
    Step,
    Vllm,
    sign,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning"),
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
    server, offered = family(STEPS), json.dumps(build_submit_tool("finish", "End.", Handoff).spec.parameters)
    async with server.run() as url, bench_in(tmp_path) as bench:
        result = await bench.hold(settings_for(family, url, stall_timeout_s=stall_timeout_s))
    changed = build_submit_tool("finish", "End.", Handoff).spec.parameters
    assert json.dumps(changed) == offered, "adapters of providers change what they are given"
    assert (result, server.refusals) == (Handoff(summary="all done"), [])
    assert bench.workspace.files["b.py"] == b"y = 2\n"
    assert len(server.bodies) == 3
    if family in {Anthropic, OpenRouter, Gemini}:
        assert sign(STEPS[1].thinking) in json.dumps(server.bodies[-1])
    if family in {ChatCompletions, Vllm}:
        assert server.bodies[-1]["messages"][-2]["reasoning_content"] == STEPS[1].thinking
    elif family is not OpenAi:
        with pytest.raises(Refusal):
            server.check(without_thinking(server.bodies[-1]))


def without_thinking(value: Any) -> Any:
    """A request as a client sends it that drops what was thought."""
    if isinstance(value, list):
        return [without_thinking(item) for item in value if not is_thought(item)]
    if isinstance(value, dict):
        dropped = {"reasoning_content", "reasoning_details", "thoughtSignature"}
        return {key: without_thinking(item) for key, item in value.items() if key not in dropped}
    return value


def is_thought(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") in {"thinking", "redacted_thinking", "reasoning"}


@pytest.mark.extended
@pytest.mark.parametrize("family", [Anthropic, DeepSeek, Gemini, OpenRouter], ids=lambda family: family.__name__)
async def test_a_session_that_was_cut_off_goes_on_with_its_thinking_unchanged(
    tmp_path: Path, family: type[Family]
) -> None:
    server = family(STEPS, down_at=[2])
    async with server.run() as url:
        async with bench_in(tmp_path) as bench:
            with pytest.raises(ProviderDown):
                await bench.hold(settings_for(family, url))
        again = Bench(tmp_path)
        again.workspace = bench.workspace
        assert await again.hold(settings_for(family, url)) == Handoff(summary="all done")
        again.journal.close()
    assert (server.refusals, len(server.bodies)) == ([], 3)


@pytest.mark.extended
async def test_a_model_that_answers_for_another_gets_none_of_its_thinking(tmp_path: Path) -> None:
    claude, spare = Anthropic(STEPS, down_at=[1]), DeepSeek(STEPS)
    async with claude.run() as url, spare.run() as other, bench_in(tmp_path) as bench:
        fallback = Fallback(model=spare.model, api_base=other, api_key_env="LOOPBACK_KEY")
        result = await bench.hold(settings_for(Anthropic, url, fallbacks=(fallback,)))
    assert (result, claude.refusals, spare.refusals) == (Handoff(summary="all done"), [], [])
    replied = [message for message in spare.bodies[0]["messages"] if message["role"] == "assistant"]
    assert [message["reasoning_content"] for message in replied] == [" "]
    assert "signature" not in json.dumps(spare.bodies)
    assert "thinking" not in json.dumps(claude.bodies[-1]), "one reply of the loop has no signed thinking"


@pytest.mark.extended
async def test_signatures_in_ids_of_calls_do_not_reach_another_provider(tmp_path: Path) -> None:
    google, spare = Gemini(STEPS, down_at=[1]), OpenAi(STEPS)
    async with google.run() as url, spare.run() as other, bench_in(tmp_path) as bench:
        fallback = Fallback(model="openai/gpt-4o", api_base=other, api_key_env="LOOPBACK_KEY")
        result = await bench.hold(settings_for(Gemini, url, fallbacks=(fallback,)))
    assert (result, google.refusals, spare.refusals) == (Handoff(summary="all done"), [], [])
    assert sign(STEPS[0].thinking) not in json.dumps(spare.bodies)
    assert sign(STEPS[0].thinking) in json.dumps(google.bodies[-1])


@pytest.mark.extended
async def test_signed_thinking_that_holds_a_secret_goes_nowhere(tmp_path: Path) -> None:
    secret = 'k7x-"Vb7xWp"-Tq93'
    steps = (replace(STEPS[0], thinking=f"The key is {secret}."), *STEPS[1:])
    server = Anthropic(steps)
    async with server.run() as url, bench_in(tmp_path, {"MY_TOKEN": secret}) as bench:
        assert await bench.hold(settings_for(Anthropic, url)) == Handoff(summary="all done")
        restored = await restore_session(bench.journal, SESSION)
    assert restored is not None
    thought = restored.conversation.turns[0].reasoning
    assert thought == Reasoning(text="The key is [redacted:MY_TOKEN].", is_withheld=True)
    assert server.refusals == []
    assert "thinking" not in json.dumps(server.bodies[1:])
    assert "Vb7xWp" not in read_all(tmp_path)


async def test_a_signature_in_an_id_of_a_call_goes_nowhere_when_it_holds_a_secret(tmp_path: Path) -> None:
    secret = "k7x-Vb7xWp-Tq93"
    thinking = f"The key is {secret}."
    server = Gemini((replace(STEPS[0], thinking=thinking), *STEPS[1:]), secret=secret)
    async with server.run() as url, bench_in(tmp_path, {"MY_TOKEN": secret}) as bench:
        assert await bench.hold(settings_for(Gemini, url)) == Handoff(summary="all done")
    assert server.refusals == []
    assert sign(thinking) not in read_all(tmp_path)
    assert sign(STEPS[1].thinking) in json.dumps(server.bodies[-1])


def read_all(directory: Path) -> str:
    """All that was written below a directory."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    return "".join(path.read_bytes().decode("latin-1") for path in files)


@pytest.mark.extended
async def test_effort_and_parameters_of_the_user_reach_the_server(tmp_path: Path) -> None:
    server = ChatCompletions(STEPS)
    extra = {"top_p": 0.5, "extra_body": {"chat_template_kwargs": {"enable_thinking": True}}}
    async with server.run() as url, bench_in(tmp_path) as bench:
        await bench.hold(settings_for(ChatCompletions, url, reasoning_effort="high", extra=extra))
    sent = server.bodies[0]
    assert (sent["reasoning_effort"], sent["top_p"]) == ("high", 0.5)
    assert sent["chat_template_kwargs"] == {"enable_thinking": True}


@pytest.mark.extended
async def test_effort_becomes_a_budget_of_thinking_where_the_provider_has_that(tmp_path: Path) -> None:
    server = Anthropic(STEPS)
    async with server.run() as url, bench_in(tmp_path) as bench:
        changes = {"extra": {}, "reasoning_effort": "low", "max_output_tokens": 8_000}
        assert await bench.hold(settings_for(Anthropic, url, **changes)) == Handoff(summary="all done")
    assert server.bodies[-1]["thinking"]["type"] == "enabled"
    assert server.refusals == []

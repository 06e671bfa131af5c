"""The loopback server answers from the request alone, so that clients may die and come back."""

import json
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.text import TextReceiveStream
from anyio.to_thread import run_sync

from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.builders import call, reply
from tests.loopback.server import LoopbackServer

ROOT = Path(__file__).parents[3]


def asking(*said: str, task: str = "api", model: str = "openai/worker") -> dict[str, Any]:
    """A request body: what the user and the assistant said in turns after the task."""
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": f"# A task\nTask: {task}\nDo it."}]
    messages += [{"role": "assistant" if n % 2 == 0 else "user", "content": text} for n, text in enumerate(said)]
    return {"model": model, "messages": messages}


async def post(url: str, body: dict[str, Any] | bytes) -> tuple[int, dict[str, Any], dict[str, str]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await run_sync(send, urllib.request.Request(f"{url}/chat/completions", data, method="POST"))


async def stats(url: str) -> dict[str, Any]:
    return (await run_sync(send, urllib.request.Request(url.removesuffix("/v1") + "/_stats")))[1]


def send(request: urllib.request.Request) -> tuple[int, dict[str, Any], dict[str, str]]:
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer), dict(answer.headers)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, json.load(refusal), dict(refusal.headers)


async def said(url: str, body: dict[str, Any]) -> str:
    status, answer, _ = await post(url, body)
    return str(answer["choices"][0]["message"]["content"] if status == 200 else answer["error"]["code"])


async def test_a_completion_looks_like_openais() -> None:
    item = reply("Looking.", call=(call(command="ls"), call(raw="{oops")))
    async with LoopbackServer([item]).run() as url:
        status, answer, _ = await post(url, asking("Hm.", "Well?"))
    assert status == 200
    assert answer == {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "openai/worker",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "logprobs": None,
                "message": {
                    "role": "assistant",
                    "content": "Looking.",
                    "refusal": None,
                    "tool_calls": [
                        {
                            "id": "call_0_0",
                            "type": "function",
                            "function": {"name": "shell", "arguments": '{"command": "ls"}'},
                        },
                        {"id": "call_0_1", "type": "function", "function": {"name": "shell", "arguments": "{oops"}},
                    ],
                },
            }
        ],
        "usage": {
            "prompt_tokens": 8,
            "completion_tokens": 11,
            "total_tokens": 19,
            "prompt_tokens_details": {"cached_tokens": 6, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
        "system_fingerprint": None,
    }


async def test_role_and_task_choose_the_queue_and_a_suffix_is_no_other_role() -> None:
    items = [reply("w1"), reply("w2"), reply("j1", role="judge"), reply("other", task="*")]
    async with LoopbackServer(items).run() as url:
        assert await said(url, asking()) == "w1"
        assert await said(url, asking(model="judge")) == "j1"
        assert await said(url, asking(task="storage/index")) == "other"
        assert await said(url, asking("More.", "Yes.", model="openai/worker-strong")) == "w2"
        assert (await stats(url))["remaining"] == {}


async def test_the_same_request_again_gets_the_same_reply_again() -> None:
    async with LoopbackServer([reply("1"), reply("2"), reply("3")]).run() as url:
        first, again = await post(url, asking()), await post(url, asking())
        assert first[1] == again[1]
        assert await said(url, asking("1", "go")) == "2"
        assert await said(url, asking()) == "1"
        assert await said(url, asking("a new attempt")) == "3"
        assert (await stats(url))["repeated"] == 2


async def test_a_request_that_failed_gets_the_next_item_when_tried_again() -> None:
    items = [reply(error="rate-limited", retry_after_s=3), reply(error="unavailable"), reply("1"), reply("2")]
    async with LoopbackServer(items).run() as url:
        status, answer, headers = await post(url, asking())
        assert (status, answer["error"]["code"], headers["Retry-After"]) == (429, "rate_limit_exceeded", "3")
        assert [await said(url, asking()) for _ in range(3)] == ["server_error", "1", "1"]
        assert (await stats(url))["failures"] == 2


async def test_running_dry_is_refused_loudly_and_counted() -> None:
    async with LoopbackServer([reply("1")]).run() as url:
        await said(url, asking())
        assert await said(url, asking("1", "go")) == "script_exhausted"
        assert (await stats(url))["exhausted"] == 1


async def test_a_request_that_nobody_could_answer_is_refused_with_a_reason() -> None:
    async with LoopbackServer([reply("1")]).run() as url:
        status, answer, _ = await post(url, asking(model="openai/boss"))
        assert (status, "names no role" in answer["error"]["message"]) == (400, True)
        status, answer, _ = await post(url, {"model": "worker", "messages": [{"role": "user", "content": "Hi."}]})
        assert (status, "no line 'Task: <id>'" in answer["error"]["message"]) == (400, True)
        assert (await post(url, b"{"))[0] == 400
        assert (await post(url, {"model": "worker"}))[0] == 400
        assert (await post(f"{url}/elsewhere", asking()))[0] == 200, "any prefix will do"
        assert (await stats(url))["refused"] == 4


async def test_latency_delays_every_answer() -> None:
    async with LoopbackServer([reply("1", delay_s=0.05)], latency_s=0.05).run() as url:
        begun = anyio.current_time()
        await said(url, asking())
        assert anyio.current_time() - begun >= 0.1


@asynccontextmanager
async def process(script: Path, state: Path) -> AsyncIterator[tuple[str, anyio.abc.Process]]:
    """The server in a process of its own: its URL and the process."""
    command = [sys.executable, "-m", "tests.loopback.server", str(script), "--state", str(state)]
    async with await anyio.open_process(command, cwd=ROOT, stderr=None) as server:
        assert server.stdout is not None
        try:
            yield (await TextReceiveStream(server.stdout).receive()).strip(), server
        finally:
            if server.returncode is None:
                server.kill()


def written(directory: Path, *items: ScriptedReply) -> Path:
    lines = ["schema = 1"]
    for item in items:
        lines += ["[[reply]]", f'role = "{item.role}"', f'task = "{item.task}"', f'text = "{item.text}"']
    path = directory / "play.toml"
    path.write_text("\n".join(lines))
    return path


async def test_a_killed_server_process_goes_on_from_its_state_file(tmp_path: Path) -> None:
    script, state = written(tmp_path, reply("1"), reply("2"), reply("3")), tmp_path / "state.json"
    async with process(script, state) as (url, server):
        assert [await said(url, asking()), await said(url, asking("1", "go"))] == ["1", "2"]
        server.send_signal(signal.SIGKILL)
    async with process(script, state) as (url, server):
        assert await said(url, asking()) == "1"
        assert await said(url, asking("1", "go")) == "2"
        assert await said(url, asking("1", "go", "2", "go")) == "3"
        assert (await stats(url))["remaining"] == {}
        server.terminate()
        assert await server.wait() == 0

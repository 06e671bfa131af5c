"""The parts of our step one after the other, with nothing between them: what it costs to keep what it guarantees.

python -m bench.step.rivals.parts URL AGENTS STEPS

litellm through our client, with instructions and tools as long as ours; the command in our sandbox with its limits; the
same five events in our journal: redacted, folded, and durable before what follows them. There is no budget, no
schedule, no history, no policy, no limit of a session: whoever has these adds to it.
"""

import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio

from bench.step.rivals.measuring import measure_steps
from orchestrator.domain.chat import Message, Request, ToolCall, ToolSpec
from orchestrator.domain.event.work import (
    ModelCalled,
    ModelReplied,
    SessionStarted,
    ToolCalled,
    ToolReturned,
    TurnEnded,
)
from orchestrator.domain.ids import CommitId, SessionId, TaskId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.text.blob_text import Text
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.hands.local import open_local_hands
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.llm.litellm_adapter.client import LiteLLMClient
from orchestrator.llm.output_parsing import parse_json_object
from orchestrator.ports.hands import ShellCommand, Workspace
from tests.running.projects import calculator
from worktrees.repositories.repository import GitRepository

MODEL = "openai/parts"
INSTRUCTIONS = "You work on one task of a goal, in a checkout of your own. " * 130
PARAMETERS = {"type": "object", "properties": {"command": {"type": "string", "description": "What to run. " * 80}}}
TOOLS = tuple(ToolSpec(name=f"tool{n}", description="Use it so. " * 20, parameters=PARAMETERS) for n in range(9))
"""Instructions and tools of 8 and 12 kB, as a worker of ours has them."""


async def run_agent(client: LiteLLMClient, url: str, name: str, workspace: Workspace, journal: Journal) -> None:
    """Hold one conversation to its end."""
    asked = {"role": "worker", "task": TaskId(name), "session": SessionId(name)}
    words = {"system": Text.build_inline(INSTRUCTIONS), "brief": Text.build_inline("Do it.")}
    await journal.append(SessionStarted(**asked, model=MODEL, prompt="", **words))
    messages = [Message(role="system", text=INSTRUCTIONS), Message(role="user", text="Do it.")]
    for turn in range(10_000):
        place = {"task": TaskId(name), "session": SessionId(name), "turn": turn}
        call = await ask_model(client, url, journal, messages, place)
        if call is None:
            return
        key = journal.build_next_key(f"tool {name} {turn}")
        arguments = await journal.store_text(call.arguments)
        await journal.append(ToolCalled(key=key, **place, name=call.name, arguments=arguments))
        command = str(parse_json_object(call.arguments)["command"])
        result, output = await run_and_read(workspace, ShellCommand(line=command))
        observation = await journal.store_text(output)
        returned = {"call_id": call.id, "name": call.name, "ok": result.is_success, "seconds": round(result.seconds, 3)}
        journal.stage_events(
            ToolReturned(key=key, **place, **returned, observation=observation), TurnEnded(**place, tree=None)
        )
        messages.append(Message(role="tool", text=output, call_id=call.id))


async def ask_model(
    client: LiteLLMClient, url: str, journal: Journal, messages: list[Message], place: Mapping[str, Any]
) -> ToolCall | None:
    """Ask for one reply, add it to the messages, and return the call of a tool that it holds."""
    key = journal.build_next_key(f"model {place['session']} {place['turn']}")
    await journal.append(ModelCalled(key=key, **place, role="worker", model=MODEL))
    known = {"api_base": url, "api_key_env": "BENCH_KEY", "tools": TOOLS, "messages": tuple(messages)}
    reply = await client.request_completion(Request(role="worker", model=MODEL, **place, **known))
    said = {"text": await journal.store_text(reply.text, is_said=True), "tool_calls": reply.tool_calls}
    ended = {"finish_reason": reply.finish_reason, "usage": reply.usage, "seconds": round(reply.seconds, 3)}
    journal.stage_events(ModelReplied(key=key, **place, role="worker", model=MODEL, **said, **ended))
    messages.append(Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls))
    return next(iter(reply.tool_calls), None)


async def run_agents(url: str, agents: int, scratch: Path) -> None:
    """Hold so many conversations at once, each in a workspace of its own."""
    repository = GitRepository.open(calculator(scratch / "repository"))
    with closing(Journal(scratch / "journal", SystemClock())) as journal:
        async with LiteLLMClient() as client, open_local_hands(repository, scratch / "state") as hands:
            base = CommitId(repository.read_head_commit())
            async with anyio.create_task_group() as group:
                for number in range(agents):
                    workspace = await hands.open_workspace(base, Purpose(f"agent {number}"))
                    group.start_soon(run_agent, client, url, f"a{number}", workspace, journal)


def run_in_scratch(url: str, agents: int) -> None:
    """Make a repository, and hold the conversations in it."""
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as scratch:
        anyio.run(run_agents, url, agents, Path(scratch))


if __name__ == "__main__":
    import os

    os.environ["BENCH_KEY"] = "sk-bench-loopback"
    measure_steps(run_in_scratch)

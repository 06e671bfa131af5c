"""The parts of our step one after the other, with nothing between them: what it costs to keep what it guarantees.

python -m bench.step.rivals.parts URL AGENTS STEPS

litellm through our client, with instructions and tools as long as ours; the command in our sandbox with its limits; the
same five events in the journal's store, durable before what follows them. There is no budget, no fold, no redaction, no
schedule, no policy, no limit of a session: whoever has these adds to it.
"""

import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import anyio
from anyio import to_thread

from bench.step.rivals.measuring import measure_steps
from orchestrator.domain.chat import Message, Reply, Request, ToolSpec
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.work import ModelCalled, ModelReplied, ToolCalled, ToolReturned, TurnEnded
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.text.blob_text import Text
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.hands.local import open_local_hands
from orchestrator.journal.storage.event_store import EventStore
from orchestrator.llm.litellm_adapter.client import LiteLLMClient
from orchestrator.llm.output_parsing import parse_json_object
from orchestrator.ports.hands import ShellCommand, Workspace
from tests.running.projects import calculator
from worktrees.repositories.repository import GitRepository

INSTRUCTIONS = "You work on one task of a goal, in a checkout of your own. " * 130
PARAMETERS = {"type": "object", "properties": {"command": {"type": "string", "description": "What to run. " * 80}}}
TOOLS = tuple(ToolSpec(name=f"tool{n}", description="Use it so. " * 20, parameters=PARAMETERS) for n in range(9))
"""Instructions and tools of 8 and 12 kB, as a worker of ours has them."""


@dataclass
class Store:
    """A journal's store that writes for all who wait at once."""

    events: EventStore
    seq: int = 0
    durable: int = 0
    waiting: list[RecordedEvent] = field(default_factory=list)
    turn: anyio.Lock = field(default_factory=anyio.Lock)

    def stage_event(self, event: Event) -> None:
        """Give the event its place; it becomes durable with the next one that is written."""
        self.seq += 1
        self.waiting.append(RecordedEvent(self.seq, datetime.now(UTC), event))

    async def append_event(self, event: Event) -> None:
        """Make the event durable, and all that are staged."""
        self.stage_event(event)
        last = self.seq
        async with self.turn:
            if self.durable < last:
                batch, self.waiting = self.waiting, []
                await to_thread.run_sync(self.events.insert_events, batch)
                self.durable = batch[-1].seq


async def run_agent(client: LiteLLMClient, url: str, name: str, workspace: Workspace, store: Store) -> None:
    """Hold one conversation to its end."""
    asked = {"role": "worker", "task": TaskId(name), "session": SessionId(name)}
    messages = [Message(role="system", text=INSTRUCTIONS), Message(role="user", text="Do it.")]
    for turn in range(10_000):
        known = {"key": f"{name}.{turn}", "task": TaskId(name), "session": SessionId(name), "turn": turn}
        await store.append_event(ModelCalled(**known, role="worker", model="openai/parts"))
        request = Request(
            **asked,
            turn=turn,
            model="openai/parts",
            api_base=url,
            messages=tuple(messages),
            tools=TOOLS,
            api_key_env="BENCH_KEY",
        )
        reply = await client.request_completion(request)
        store.stage_event(_build_reply_event(known, reply))
        messages.append(Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls))
        if not reply.tool_calls:
            return
        call = reply.tool_calls[0]
        await store.append_event(ToolCalled(**known, name=call.name, arguments=Text.build_inline(call.arguments)))
        command = str(parse_json_object(call.arguments)["command"])
        result, output = await run_and_read(workspace, ShellCommand(line=command))
        observation = Text.build_inline(output)
        store.stage_event(
            ToolReturned(
                **known, call_id=call.id, name=call.name, ok=result.is_success, observation=observation, seconds=0.0
            )
        )
        del known["key"]
        store.stage_event(TurnEnded(**known, tree=None))
        messages.append(Message(role="tool", text=output, call_id=call.id))


def _build_reply_event(known: dict[str, object], reply: Reply) -> ModelReplied:
    said = {"text": Text.build_inline(reply.text), "tool_calls": reply.tool_calls, "usage": reply.usage}
    told = {"finish_reason": reply.finish_reason, "seconds": round(reply.seconds, 3)}
    return ModelReplied(**known, role="worker", model="openai/parts", **said, **told)


async def run_agents(url: str, agents: int, scratch: Path) -> None:
    """Hold so many conversations at once, each in a workspace of its own."""
    repository = GitRepository.open(calculator(scratch / "repository"))
    with closing(EventStore.open_writer(scratch / "journal.db")) as events:
        events.claim_writer()
        store = Store(events)
        async with LiteLLMClient() as client, open_local_hands(repository, scratch / "state") as hands:
            base = repository.read_head_commit()
            async with anyio.create_task_group() as group:
                for number in range(agents):
                    workspace = await hands.open_workspace(base, Purpose(f"agent {number}"))
                    group.start_soon(run_agent, client, url, f"a{number}", workspace, store)


def run_in_scratch(url: str, agents: int) -> None:
    """Make a repository, and hold the conversations in it."""
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as scratch:
        anyio.run(run_agents, url, agents, Path(scratch))


if __name__ == "__main__":
    import os

    os.environ["BENCH_KEY"] = "sk-bench-loopback"
    measure_steps(run_in_scratch)

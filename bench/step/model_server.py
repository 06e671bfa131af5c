"""A model server for every harness of this bench: chat completions on 127.0.0.1, from one process, as lean as it goes.

    python -m bench.step.model_server --bytes 0 --agents 1 --latency 0.05

The path of a request, /STEPS/RUN/chat/completions, says how many commands it calls before it ends, and of which run a
planner is. For Orchestrate it plans one task for each agent and reviews. What comes next follows from the replies in a
request, so nothing is kept between requests but the runs that have a plan.
"""

import argparse
import asyncio  # noqa: TID251  the measured floor is asyncio's own
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

DONE = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The command that ends mini-swe-agent."""
Json = dict[str, Any]


@dataclass
class ModelServer:
    """Replies as every harness needs them."""

    output_bytes: int
    agents: int
    latency_s: float
    planned: set[str] = field(default_factory=set)
    requests: int = 0
    busy_s: float = 0.0

    async def serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until it is closed."""
        try:
            while request := await read_request(reader):
                began = time.process_time()
                answer = self._render(*request)
                self.busy_s += time.process_time() - began
                self.requests += 1
                await asyncio.sleep(self.latency_s)
                writer.write(answer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _render(self, path: str, request: Json) -> bytes:
        _, steps, run, *_ = path.split("/")
        name, arguments = self._choose_call(request, int(steps), run)
        message: Json = {"role": "assistant", "content": None if name else "done"}
        if name:
            function = {"name": name, "arguments": json.dumps(arguments)}
            message["tool_calls"] = [{"id": f"call_{self.requests}", "type": "function", "function": function}]
        usage = {"prompt_tokens": 1_000, "completion_tokens": 20, "total_tokens": 1_020}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if name else "stop"}
        shared = {"id": "c", "object": "chat.completion", "created": 1, "model": request["model"]}
        content = json.dumps({**shared, "choices": [choice], "usage": usage}).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        return head.encode() + content

    def _choose_call(self, request: Json, steps: int, run: str) -> tuple[str, Mapping[str, object]]:
        match request["model"]:
            case "planner":
                return self._plan(run)
            case "judge":
                return build_verdict(request)
            case "worker":
                return self._work(request, steps)
        done = count_replies(request)
        if done < steps:
            return request["tools"][0]["function"]["name"], {"command": self._write_command(done)}
        if request["model"] == "mini":
            return "bash", {"command": DONE}
        return "", {}

    def _write_command(self, done: int) -> str:
        """Return a command that no step before had: agents that repeat one are stopped."""
        if self.output_bytes:
            return f"head -c {self.output_bytes} /dev/zero | tr '\\0' {chr(ord('a') + done % 26)} && true {done}"
        return f"true {done}"

    def _plan(self, run: str) -> tuple[str, Mapping[str, object]]:
        if run in self.planned:
            return "finish", {"summary": "done"}
        self.planned.add(run)
        names = [f"t{number}" for number in range(self.agents)]
        tasks = [{"key": name, "title": name, "outcome": f"{name} is done"} for name in names]
        return "submit_plan", {"rationale": "because", "tasks": tasks}

    def _work(self, request: Json, steps: int) -> tuple[str, Mapping[str, object]]:
        done = count_replies(request)
        if done < steps:
            return "shell", {"command": self._write_command(done)}
        if done == steps:
            task = find_task(request["messages"])
            return "write", {"path": f"{task}.txt", "text": f"{task}\n"}
        return "finish", {"summary": "done"}


def build_verdict(request: Json) -> tuple[str, Mapping[str, object]]:
    """Return an approval: of a change, or of the whole where the tool knows `continue`."""
    if '"continue"' in json.dumps(request["tools"]):
        findings: Sequence[Json] = [
            {"id": name, "met": True, "evidence": "the receipts of gate"} for name in ("goal", "gate")
        ]
        return "submit_verdict", {"decision": "done", "reasons": [], "findings": findings}
    findings = [{"id": "outcome", "met": True, "evidence": ["gate"]}]
    return "submit_verdict", {"decision": "approve", "reasons": [], "findings": findings}


def count_replies(request: Json) -> int:
    """Return how often the model has replied in this conversation."""
    return sum(message["role"] == "assistant" for message in request["messages"])


def find_task(messages: Sequence[Json]) -> str:
    """Return the task that the first message of the user names in a line of its own."""
    for message in messages:
        if message["role"] == "user":
            content = message["content"]
            text = content if isinstance(content, str) else "".join(part["text"] for part in content)
            return next(line for line in text.splitlines() if line.startswith("Task: ")).removeprefix("Task: ")
    raise ValueError("no message of the user names a task")


async def read_request(reader: asyncio.StreamReader) -> tuple[str, Json] | None:
    """Return path and body of the next request; None at the end of the connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    for line in head.lower().split("\r\n"):
        if line.startswith("content-length:"):
            body = await reader.readexactly(int(line.partition(":")[2]))
            return head.split(" ", 2)[1], json.loads(body)
    return None


async def run_server(server: ModelServer) -> None:
    """Serve on a free port, whose URL is the first line of the output; after EOF on stdin print what it cost."""
    listener = await asyncio.start_server(server.serve_connection, "127.0.0.1", 0, limit=64 * 1024 * 1024)
    print(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", flush=True)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, partial(input_until_end))
    print(json.dumps({"requests": server.requests, "busy_ms": server.busy_s * 1_000}), flush=True)


def input_until_end() -> None:
    """Wait until the bench closes the standard input."""
    import sys

    sys.stdin.read()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bytes", type=int, default=0)
    parser.add_argument("--agents", type=int, default=1)
    parser.add_argument("--latency", type=float, default=0.05)
    given = parser.parse_args()
    asyncio.run(run_server(ModelServer(given.bytes, given.agents, given.latency)))


if __name__ == "__main__":
    main()

"""The least that a harness of litellm, a sandbox and a durable log can do: it bounds our own step from below.

python -m bench.step.rivals.bound URL AGENTS STEPS

litellm is asked as we ask it, without its records, prices and tokenizer. The sandbox is bubblewrap with new namespaces
and no limits; the log is one durable line for each step.
"""

import asyncio  # noqa: TID251  the measured floor is asyncio's own
import json
import os
import tempfile
from typing import Any

from bench.step.rivals.measuring import measure_steps
from orchestrator.llm.litellm_adapter.client import load_litellm
from orchestrator.llm.litellm_adapter.skipped_work import build_skipping_arguments, skip_call_log

TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
MOUNTS = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
SANDBOX = ["bwrap", "--unshare-all", "--die-with-parent", *MOUNTS, "sh", "-c"]


async def run_agent(litellm: Any, url: str, log: int) -> None:  # noqa: ANN401  a module
    """Hold one conversation to its end."""
    messages: list[Any] = [{"role": "system", "content": "You work."}, {"role": "user", "content": "Do it."}]
    options = {"api_base": url, "api_key": "sk-bench", "tools": TOOLS, **build_skipping_arguments(litellm)}
    while True:
        with skip_call_log(litellm):
            reply = await litellm.acompletion(model="openai/bound", messages=messages, **options)
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return
        call = message.tool_calls[0]
        command = json.loads(call.function.arguments)["command"]
        process = await asyncio.create_subprocess_exec(*SANDBOX, command, stdout=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
        messages.append({"role": "tool", "tool_call_id": call.id, "content": output.decode()})
        os.write(log, json.dumps(messages[-2:]).encode() + b"\n")
        os.fsync(log)


async def run_agents(url: str, agents: int) -> None:
    """Hold so many conversations at once."""
    litellm = load_litellm()
    with tempfile.TemporaryFile() as log:
        await asyncio.gather(*(run_agent(litellm, url, log.fileno()) for _ in range(agents)))
    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()


if __name__ == "__main__":
    measure_steps(lambda url, agents: asyncio.run(run_agents(url, agents)))

"""The least that a harness can do: a raw connection for each agent, a shell, a durable line for each step.

python lean.py URL AGENTS STEPS
"""

import asyncio  # noqa: TID251  the measured floor is asyncio's own
import json
import os
import tempfile
from urllib.parse import urlsplit

from measuring import measure_steps

TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]


async def run_agent(url: str, log: int) -> None:
    """Hold one conversation to its end."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=64 * 1024 * 1024)
    messages = [{"role": "system", "content": "You work."}, {"role": "user", "content": "Do it."}]
    texts = [json.dumps(message) for message in messages]
    while True:
        body = f'{{"model":"lean","tools":{json.dumps(TOOLS)},"messages":[{",".join(texts)}]}}'.encode()
        head = f"POST {place.path}/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        reply = json.loads(await reader.readexactly(length))["choices"][0]["message"]
        texts.append(json.dumps(reply))
        os.write(log, texts[-1].encode() + b"\n")
        os.fsync(log)
        if not reply.get("tool_calls"):
            writer.close()
            return
        call = reply["tool_calls"][0]
        command = json.loads(call["function"]["arguments"])["command"]
        process = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
        result = {"role": "tool", "tool_call_id": call["id"], "content": output.decode()}
        texts.append(json.dumps(result))


async def run_agents(url: str, agents: int) -> None:
    """Hold so many conversations at once."""
    with tempfile.TemporaryFile() as log:
        held = (run_agent(url, log.fileno()) for _ in range(agents))
        await asyncio.gather(*held)


if __name__ == "__main__":
    measure_steps(lambda url, agents: asyncio.run(run_agents(url, agents)))

"""The least that a harness can do: a raw connection for each agent, a shell, a durable line for each step.

python lean.py URL AGENTS
"""

import asyncio  # noqa: TID251  the measured floor is asyncio's own
import json
import os
import sys
import tempfile
import time
from urllib.parse import urlsplit

from measuring import print_costs

TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]


async def run_agent(host: str, port: int, log: int) -> None:
    """Hold one conversation to its end."""
    reader, writer = await asyncio.open_connection(host, port, limit=64 * 1024 * 1024)
    messages = [{"role": "system", "content": "You work."}, {"role": "user", "content": "Do it."}]
    texts = [json.dumps(message) for message in messages]
    while True:
        body = f'{{"model":"lean","tools":{json.dumps(TOOLS)},"messages":[{",".join(texts)}]}}'.encode()
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
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
        answer = {"role": "tool", "tool_call_id": call["id"], "content": output.decode()}
        texts.append(json.dumps(answer))


async def run_agents(url: str, agents: int) -> None:
    """Hold so many conversations at once."""
    place = urlsplit(url)
    with tempfile.TemporaryFile() as log:
        held = (run_agent(place.hostname or "", place.port or 0, log.fileno()) for _ in range(agents))
        await asyncio.gather(*held)


if __name__ == "__main__":
    began = time.monotonic()
    asyncio.run(run_agents(sys.argv[1], int(sys.argv[2])))
    print_costs(began)

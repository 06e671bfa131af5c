"""litellm is imported late and says nothing; seen from outside, in processes of their own."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

IMPORT_ALL = """
import importlib, pkgutil, sys
import orchestrator.llm
for module in pkgutil.walk_packages(orchestrator.llm.__path__, "orchestrator.llm."):
    if module.name == "orchestrator.llm.litellm_adapter.metered_transports":
        continue  # loaded with litellm
    importlib.import_module(module.name)
heavy = {"litellm", "openai", "httpx", "aiohttp"} & sys.modules.keys()
assert len([name for name in sys.modules if name.startswith("orchestrator.llm.")]) > 10
assert not heavy, heavy
"""

CALLS = """
import anyio
from orchestrator.llm.errors import ModelError
from orchestrator.llm.litellm_adapter.client import LiteLLMClient
from tests.loopback.builders import SHELL, call, reply, request, user
from tests.loopback.server import LoopbackServer

ITEMS = [
    reply("Hello.", call=(call(command="ls"),)),
    reply(error="rate-limited", retry_after_s=1),
    reply(error="unavailable"),
    reply(error="unavailable", wire="malformed"),
    reply(error="unavailable", wire="disconnect"),
    reply(error="credentials-missing"),
    reply(error="timed-out"),
    reply("Hello again.", call=(call(command="ls"),)),
    reply(error="unavailable", wire="unfinished"),
    reply(error="timed-out", wire="stalled"),
]
STREAMED = 3

async def main():
    async with LoopbackServer(ITEMS).run() as url, LiteLLMClient() as client:
        for model in ("openai/worker", "nobody/knows"):
            await client.find_model_problem(model, None, None)
        models = ("openai/worker",) * len(ITEMS) + ("nobody/knows", "gemini/x", "anthropic/y")
        for place, model in enumerate(models):
            base = url if model.startswith("openai/") else None
            stall_s = 0.8 if len(ITEMS) - STREAMED <= place < len(ITEMS) else 0
            asked = request(user(f"{place}"), model=model, api_base=base, tools=(SHELL,), timeout_s=1)
            try:
                await client.request_completion(asked.model_copy(update={"stall_timeout_s": stall_s}))
            except ModelError:
                pass

anyio.run(main)
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "always", "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)


def test_importing_the_package_imports_no_provider_library() -> None:
    assert (found := run(IMPORT_ALL)).returncode == 0, found.stderr


def test_calls_that_work_and_calls_that_fail_print_nothing() -> None:
    found = run(CALLS)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")

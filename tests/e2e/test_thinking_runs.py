"""A whole run on thinking models of each family, against servers that keep that provider's published rules."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from tests.loopback.families import FAMILIES, Anthropic, Family, Step, sign
from tests.running.cli import Finished, environment, orchestrate
from tests.running.projects import git, repository

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(600)]

KEY = "loopback-k7x-Vb7xWp-Tq93"
CALC = "def add(a, b):\n    return a + b\n"
TEST = """\
import unittest
from calc import add

class AddTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)
"""
NOTES_BYTES = 9_000
READS = 12
WINDOW_TOKENS = 16_000
"""So small that the texts of what a worker read are left out in the middle of its work."""

TASK = {"key": "triple", "title": "Triple", "outcome": "calc.py has triple(a).", "paths": ["calc.py"]}
PLAN = {"rationale": "One function is missing.", "tasks": [TASK]}
VERDICT = {"decision": "approve", "findings": [{"id": "outcome", "met": True, "evidence": ["calc.py:5-6", "gate"]}]}
WHOLE_FINDINGS = [
    {"id": name, "met": True, "evidence": "triple landed, the gate is green"} for name in ("goal", "gate")
]
WHOLE_VERDICT = {"decision": "done", "findings": WHOLE_FINDINGS}
PLANNER = (
    Step(f"The key that I see is {KEY}.", "read", {"path": "calc.py"}),
    Step("One task is enough: ünïcode.", "submit_plan", PLAN),
)
LANDED = "calc.py has triple(), and its test."
SECOND_ROUND = (
    Step("Let me look at it.", "read", {"path": "calc.py"}),
    Step("It landed.", "finish", {"summary": "triple() has landed.", "done": ["triple"]}),
)
WORKER = (
    *(Step(f"Read part {number}.", "read", {"path": f"notes/{number}.txt"}) for number in range(READS)),
    Step("Now write.", "write", {"path": "calc.py", "text": f"{CALC}\n\ndef triple(a):\n    return 3 * a\n"}),
    Step("Done.", "finish", {"summary": LANDED, "done": ["triple"]}),
)
JUDGE = (Step("It does what was asked.", "submit_verdict", VERDICT),)
WHOLE = (Step("Nothing is missing.", "submit_verdict", WHOLE_VERDICT),)
ONLY_OF_THE_WHOLE = '"continue"'
"""A decision that only the judge of the whole may take: its tool names it."""
SERVERS = {
    "planner": (PLANNER, {LANDED: SECOND_ROUND}),
    "worker": (WORKER, {}),
    "judge": (JUDGE, {ONLY_OF_THE_WHOLE: WHOLE}),
}
CALLS = {"planner": 4, "worker": len(WORKER), "judge": 2}


@asynccontextmanager
async def serve_roles(family: type[Family]) -> AsyncIterator[tuple[dict[str, Family], dict[str, str]]]:
    """Run one server for each role; yields servers and URLs by role."""
    servers = {role: family(steps, secret=KEY, others=others) for role, (steps, others) in SERVERS.items()}
    urls = {}
    async with AsyncExitStack() as stack:
        for role, server in servers.items():
            urls[role] = await stack.enter_async_context(server.run())
        yield servers, urls


def write_config(home: Path, family: type[Family], urls: Mapping[str, str]) -> None:
    """Write a user's configuration that sends each role to its own server."""
    lines = []
    for role, url in urls.items():
        lines += [f"[roles.{role}]", f'model = "{family.model}"', f'api_base = "{url}"', 'api_key_env = "LOOPBACK_KEY"']
        lines += ["max_output_tokens = 2000"]
        if family is Anthropic:
            lines += ['extra = { thinking = { type = "enabled", budget_tokens = 1024 } }']
        if role == "worker":
            lines += [f"context_tokens = {WINDOW_TOKENS}"]
    path = home / ".config" / "orchestrate" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines) + "\n")


def build_project(root: Path) -> Path:
    """A repository with a test, and notes that fill a worker's window."""
    notes = {f"notes/{number}.txt": f"{number:02} is a line.\n" * (NOTES_BYTES // 14) for number in range(READS)}
    return repository(root, {"calc.py": CALC, "test_calc.py": TEST, ".gitignore": "__pycache__/\n", **notes})


async def run_goal(place: Path) -> Finished:
    """Run a goal to its end in a process of its own."""
    words = ["run", "Add triple", "--gate", "python3 -m unittest", "--json"]
    where = ["--repo", str(place / "calc"), "--state", str(place / "state")]
    env = environment(place, LOOPBACK_KEY=KEY)
    return await to_thread.run_sync(lambda: orchestrate(*words, *where, cwd=place, env=env))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
async def test_a_run_lands_on_thinking_models_of_a_family(tmp_path: Path, family: type[Family]) -> None:
    root = build_project(tmp_path / "calc")
    async with serve_roles(family) as (servers, urls):
        write_config(tmp_path, family, urls)
        done = await run_goal(tmp_path)
    refusals = {role: server.refusals for role, server in servers.items()}
    assert (done.code, refusals) == (0, {"planner": [], "worker": [], "judge": []}), done.err
    result = done.json
    assert (result["outcome"], result["tasks"]["merged"]) == ("done", 1)
    assert "def triple" in git(root, "show", f"{result['pr_branch']}:calc.py")
    assert {role: len(server.bodies) for role, server in servers.items()} == CALLS
    check_elision(family, servers["worker"].bodies)
    assert find_holders(tmp_path / "state", KEY) == []


def check_elision(family: type[Family], bodies: list[dict[str, Any]]) -> None:
    """Assert that old texts were left out, and that thinking was only where the family may do without it."""
    last = json.dumps(bodies[-1], ensure_ascii=False)
    texts = [last.count(f"{number:02} is a line.") for number in range(READS)]
    assert texts[0] < texts[-1] // 4, "the first text is left out in a window that all of them do not fit in"
    if family.keeps_all_thinking:
        thoughts = [WORKER[number].thinking for number in range(READS)]
        assert all(thought in last or sign(thought) in last for thought in thoughts)


def find_holders(directory: Path, secret: str) -> list[str]:
    """Return the files below a directory that hold a secret."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    return [str(path) for path in files if secret.encode() in path.read_bytes()]

"""Agents of other makers from their registries, on the loopback server, each carrying a task to a judged landing."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from orchestrator.app.run_execution import run_goal
from orchestrator.domain.event.guests import GuestSessionOpened, GuestStarted
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.engine.test_guest_attacks import find_processes
from tests.loopback.builders import call, reply
from tests.loopback.server import LoopbackServer
from tests.running.cli import environment
from tests.running.goals import Bench, status
from tests.running.killing import Start, as_json, kill_engines
from tests.running.projects import GATE, calculator, git
from tests.running.scripts import judges, planner_is_done, plans, reviews, write_script
from tests.running.serving import model_server, stats

pytestmark = [pytest.mark.extended, pytest.mark.sandbox, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
GUESTS = ROOT / ".venv-guests"
EDIT = (
    "cat >> calc.py <<'END'\n\n\ndef triple(a):\n    return 3 * a\nEND\n"
    "cat > test_triple.py <<'END'\nimport unittest\n\nfrom calc import triple\n\n\n"
    "class TripleTest(unittest.TestCase):\n"
    "    def test_triple(self):\n        self.assertEqual(triple(2), 6)\nEND\n"
)


@pytest.fixture(scope="module")
def guests() -> Path:
    """The environment of agents from registries; `make` sets it up where it is missing, and fails loudly."""
    subprocess.run(["make", "--no-print-directory", "guests"], cwd=ROOT, check=True)
    return GUESTS


def write_loopback_script(path: Path, items: Iterable[ScriptedReply]) -> Path:
    """Write a script for the server; its path."""
    write_script(path, items)
    return path


def test_mini_swe_agent_carries_a_task_to_a_judged_landing(tmp_path: Path, guests: Path) -> None:
    calculator(tmp_path / "repo")
    steps = ("ls", EDIT, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
    worker = [reply(role="worker", task="triple", call=[call("bash", command=step)]) for step in steps]
    script = write_loopback_script(tmp_path / "worker.json", worker)
    boss = write_script(
        tmp_path / "boss.json", [plans("root", {"key": "triple"}), reviews("triple"), *planner_is_done(), judges()]
    )
    with model_server([script], tmp_path / "server.json") as url:
        table = describe_mini(url, guests, "openai/worker")
        start = prepare_start(tmp_path, "mini", table, boss)
        done, _ = start.to_the_end()
        told = stats(url)
    result = as_json(done)
    assert result["outcome"] == "done", (result, done.err)
    assert result["tasks"]["merged"] == 1
    assert told["calls"] == len(steps)
    assert "def triple" in git(tmp_path / "repo", "show", f"{result['pr_branch']}:calc.py")
    assert b"sk-loopback-4711" not in Path(result["journal"]).read_bytes()


def describe_mini(url: str, guests: Path, model: str) -> Mapping[str, Any]:
    """The table of an engine that is mini-swe-agent on a server."""
    host = url.removeprefix("http://").removesuffix("/v1")
    return {
        "protocol": "command",
        "command": [
            *(str(guests / "bin" / "mini"), "--yolo", "--exit-immediately", "--cost-limit", "0"),
            *("--model", "{model}", "--task", "{prompt}"),
        ],
        "model": model,
        **name_server(host),
        "vars": {
            "OPENAI_API_BASE": url,
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        "read_only": [str(guests), sys.base_prefix],
    }


def describe_qwen(url: str, guests: Path, model: str) -> Mapping[str, Any]:
    """The table of an engine that is qwen-code on a server."""
    node, packages = shutil.which("node"), guests / "npm"
    assert node is not None
    program = packages / "node_modules" / "@qwen-code" / "qwen-code" / "cli.js"
    return {
        "protocol": "acp",
        "command": [node, str(program), "--acp", "--auth-type", "openai", "--model", model],
        **name_server(url.removeprefix("http://").removesuffix("/v1")),
        "vars": {"OPENAI_BASE_URL": url, "OPENAI_MODEL": model},
        "read_only": [str(packages)],
    }


def name_server(host: str) -> Mapping[str, Any]:
    """What of a table lets an engine speak with a server on this host, and with no other."""
    return {"hosts": [host], "private_hosts": [host], "plain_hosts": [host], "env": ["OPENAI_API_KEY"]}


def prepare_start(tmp_path: Path, name: str, table: Mapping[str, Any], boss: Path) -> Start:
    """How a run is started whose worker is this engine."""
    settings = tmp_path / ".config" / "orchestrate" / "config.toml"
    settings.parent.mkdir(parents=True)
    lines = [f"{key} = {format_value(value)}" for key, value in table.items()]
    settings.write_text("\n".join((f'[roles.worker]\nengine = "{name}"\n[engines.{name}]', *lines)))
    words = ["run", "make it better", "--gate", GATE, "--set", "gate.report=unittest"]
    words += ["--model", f"planner={boss}", "--model", f"judge={boss}"]
    where = ("--repo", str(tmp_path / "repo"), "--state", str(tmp_path / "state"))
    return Start(words, where, tmp_path, environment(tmp_path, OPENAI_API_KEY="sk-loopback-4711-not-real"))


def format_value(value: object) -> str:
    """A value in TOML, in which a table is written inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {json.dumps(one)}" for name, one in value.items()) + "}"
    return json.dumps(value)


def answer_as_qwen(asked: dict[str, Any]) -> ScriptedReply:
    """The next reply of a model that qwen asks: one command, then its last words."""
    has_tools = bool(asked.get("tools"))
    is_done = any(message["role"] == "tool" for message in asked["messages"])
    if is_done or not has_tools:
        return reply(role="worker", task="triple", text="triple is there.")
    return reply(role="worker", task="triple", call=[call("run_shell_command", command=EDIT, is_background=False)])


async def test_an_acp_agent_from_a_registry_carries_a_task_to_a_judged_landing(
    tmp_path: Path, guests: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback-4711-not-real")
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    server = LoopbackServer([], answering={"worker": answer_as_qwen})
    async with server.run() as url:
        table = describe_qwen(url, guests, "worker")
        boss = [plans("root", {"key": "triple"}), reviews("triple"), *planner_is_done(), judges()]
        options = bench.options(boss, engines={"qwen": table})
        roles = {**options.flags["roles"], "worker": {"engine": "qwen", "model": ""}}
        ended = await run_goal(replace(options, flags={**options.flags, "roles": roles}), "make it better", None)
    assert server.stats()["calls"] >= 2
    assert status(ended, "triple") == TaskStatus.MERGED
    assert "def triple" in git(bench.repository, "show", f"{ended.state.run.branch}:calc.py")
    handoff = ended.state.tasks[TaskId("triple")].ends[-1].handoff
    assert handoff is not None
    assert "triple is there." in handoff.summary
    assert b"sk-loopback-4711" not in ended.directory.journal.read_bytes()


class PausingModel:
    """A model that has a worker's agent sleep, until `may_go_on` is set; then it has the work done.

    `edits`, `naps` and `ends` are its replies; a conversation in which a tool has returned is at its end.
    """

    def __init__(self, edits: ScriptedReply, naps: ScriptedReply, ends: ScriptedReply) -> None:
        self.may_go_on = False
        self._edits = edits
        self._naps = naps
        self._ends = ends

    def answer(self, asked: dict[str, Any]) -> ScriptedReply:
        """Return the next reply."""
        if not asked.get("tools") or any(message["role"] == "tool" for message in asked["messages"]):
            return self._ends
        return self._edits if self.may_go_on else self._naps


def build_mini_model(nap: str) -> PausingModel:
    """A model for mini-swe-agent."""
    done = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    replies = [reply(role="worker", task="triple", call=[call("bash", command=line)]) for line in (EDIT, nap, done)]
    return PausingModel(*replies)


def build_qwen_model(nap: str) -> PausingModel:
    """A model for qwen-code."""
    shells = [call("run_shell_command", command=line, is_background=False) for line in (EDIT, nap)]
    replies = [reply(role="worker", task="triple", call=[shell]) for shell in shells]
    return PausingModel(*replies, reply(role="worker", task="triple", text="triple is there."))


@pytest.mark.parametrize(
    ("name", "describe", "build", "seconds"),
    [("mini", describe_mini, build_mini_model, "987.1"), ("qwen", describe_qwen, build_qwen_model, "987.2")],
    ids=["mini-swe-agent", "qwen-code"],
)
async def test_an_engine_that_is_killed_leaves_no_agent_and_a_resume_begins_it_again_and_lands(
    tmp_path: Path, guests: Path, name: str, describe: Any, build: Any, seconds: str
) -> None:
    calculator(tmp_path / "repo")
    items = [plans("root", {"key": "triple"}), reviews("triple"), *planner_is_done(), judges()]
    boss = write_script(tmp_path / "boss.json", items)
    model = build(f"echo half > calc.py; (setsid sleep {seconds} &) ; exec sleep {seconds}")
    model_name = f"worker-{name}"
    server = LoopbackServer([], answering={"worker": model.answer})
    async with server.run() as url:
        start = prepare_start(
            tmp_path, name, describe(url, guests, f"openai/{model_name}" if name == "mini" else model_name), boss
        )
        engine = start.begin()
        with anyio.fail_after(300):
            while len(find_processes(seconds)) < 2:
                assert engine.poll() is None
                await anyio.sleep(0.2)
        assert find_agents(model_name)
        engine.send_signal(signal.SIGKILL)
        engine.wait()
        assert kill_engines(tmp_path) == 1
        await to_thread.run_sync(wait_for_deaths, seconds, model_name)
        model.may_go_on = True
        done = await to_thread.run_sync(start.resume)
    result = as_json(done)
    assert (result["outcome"], result["tasks"]["merged"]) == ("done", 1), (result, done.err)
    shown = git(tmp_path / "repo", "show", f"{result['pr_branch']}:calc.py")
    assert "def triple" in shown
    assert "half" not in shown
    recorded = [one.event for one in read_all_events(Path(result["journal"]))]
    started = [event for event in recorded if isinstance(event, GuestStarted)]
    assert [(event.engine, event.begun) for event in started] == [(name, 1), (name, 2)]
    assert len({event.session for event in started}) == 1
    opened = [event for event in recorded if isinstance(event, GuestSessionOpened)]
    assert len({event.agent_session for event in opened}) == (2 if name == "qwen" else 0)
    assert find_processes(seconds) == []
    assert find_agents(model_name) == []


def wait_for_deaths(seconds: str, model: str) -> None:
    """Wait until neither an agent is left nor what it started."""
    until = time.monotonic() + 60
    while left := [*find_processes(seconds), *find_agents(model)]:
        assert time.monotonic() < until, left
        time.sleep(0.1)


def find_agents(model: str) -> list[int]:
    """The processes of an agent that has this model, among its arguments."""
    return [*find_processes(model), *find_processes(f"openai/{model}")]

"""Agents of other makers from their registries, on the loopback server, each carrying a task to a judged landing."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import run_goal
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.builders import call, reply
from tests.loopback.server import LoopbackServer
from tests.running.cli import environment
from tests.running.goals import Bench, status
from tests.running.killing import Start, as_json
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
        host = url.removeprefix("http://").removesuffix("/v1")
        table = {
            "protocol": "command",
            "command": [
                *(str(guests / "bin" / "mini"), "--yolo", "--exit-immediately", "--cost-limit", "0"),
                *("--model", "{model}", "--task", "{prompt}"),
            ],
            "model": "openai/worker",
            "hosts": [host],
            "private_hosts": [host],
            "plain_hosts": [host],
            "env": ["OPENAI_API_KEY"],
            "vars": {
                "OPENAI_API_BASE": url,
                "MSWEA_CONFIGURED": "true",
                "MSWEA_COST_TRACKING": "ignore_errors",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            },
            "read_only": [str(guests), sys.base_prefix],
        }
        settings = tmp_path / ".config" / "orchestrate" / "config.toml"
        settings.parent.mkdir(parents=True)
        lines = [f"{name} = {format_value(value)}" for name, value in table.items()]
        settings.write_text("\n".join(('[roles.worker]\nengine = "mini"\n[engines.mini]', *lines)))
        words = ["run", "make it better", "--gate", GATE, "--set", "gate.report=unittest"]
        words += ["--model", f"planner={boss}", "--model", f"judge={boss}"]
        where = ("--repo", str(tmp_path / "repo"), "--state", str(tmp_path / "state"))
        env = environment(tmp_path, OPENAI_API_KEY="sk-loopback-4711-not-real")
        done, _ = Start(words, where, tmp_path, env).to_the_end()
        told = stats(url)
    result = as_json(done)
    assert result["outcome"] == "done", (result, done.err)
    assert result["tasks"]["merged"] == 1
    assert told["calls"] == len(steps)
    assert "def triple" in git(tmp_path / "repo", "show", f"{result['pr_branch']}:calc.py")
    assert b"sk-loopback-4711" not in Path(result["journal"]).read_bytes()


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
    node, packages = shutil.which("node"), guests / "npm"
    assert node is not None
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    server = LoopbackServer([], answering={"worker": answer_as_qwen})
    async with server.run() as url:
        host = url.removeprefix("http://").removesuffix("/v1")
        program = packages / "node_modules" / "@qwen-code" / "qwen-code" / "cli.js"
        table = {
            "protocol": "acp",
            "command": [node, str(program), "--acp", "--auth-type", "openai"],
            "hosts": [host],
            "private_hosts": [host],
            "plain_hosts": [host],
            "env": ["OPENAI_API_KEY"],
            "vars": {"OPENAI_BASE_URL": url, "OPENAI_MODEL": "worker"},
            "read_only": [str(packages)],
        }
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

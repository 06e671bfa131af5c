"""Secrets of the user's in a whole run: what prints, says or writes one, and where it may never arrive."""

import base64
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_creation import create_goal_run
from orchestrator.app.run_execution import execute_run
from orchestrator.app.wiring import RunOverrides, open_run
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.llm.scripted_model.model import ScriptedModel
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from orchestrator.scratch_runs.replay import replay_run
from tests.running.cli import environment, orchestrate
from tests.running.goals import Bench
from tests.running.projects import calculator, git
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(480)]

FIRST, SECOND = "c4nary-Tq93", "zzLm0-Vb7xWp"
SECRET = FIRST + SECOND
ENCODED = base64.b64encode(SECRET.encode()).decode().rstrip("=")
NAME = "CANARY_API_KEY"
MARK = f"[redacted:{NAME}]"
PRINTING = {
    "plain": f"a={FIRST}; echo it is ${{a}}{SECOND}",
    "base64": f"a={FIRST}; printf %s ${{a}}{SECOND} | base64",
    "two chunks": f"printf %s {FIRST}; sleep 0.2; printf '%s\\n' {SECOND}",
    "two lines": f"echo {FIRST}; echo {SECOND}",
    "hex": f"a={FIRST}; printf %s ${{a}}{SECOND} | od -An -tx1 | tr -d ' \\n'",
}
"""Command lines that hold the value in pieces, as one that found it somewhere would."""
TRIVIAL = {"gate": {"command": "true", "report": "exit-code"}}


@dataclass(frozen=True)
class Leaky:
    """A run that did its best to spread a secret."""

    bench: Bench
    model: ScriptedModel
    state: RunState

    @property
    def asked(self) -> str:
        """Everything that was sent to models."""
        requests = [request.model_dump_json() for request in self.model.requests]
        return "\n".join(requests)

    @property
    def observed(self) -> list[str]:
        """What the worker was told that its commands printed."""
        last = [request for request in self.model.requests if request.role == "worker"][-1]
        return [message.text for message in last.messages if message.role == "tool"][: len(PRINTING)]

    def kept(self) -> bytes:
        """Every byte below the state directory, and every object of the repository but the user's own."""
        state = self.bench.root / "state"
        files = [path.read_bytes() for path in sorted(state.rglob("*")) if path.is_file()]
        words = ["git", "cat-file", "--batch", "--batch-all-objects"]
        done = subprocess.run(words, cwd=self.bench.repository, capture_output=True, check=True)
        return b"\n".join((*files, done.stdout))

    def shown(self) -> str:
        """What a person sees of it, in a terminal that knows nothing of the secret."""
        env = environment(self.bench.root)
        where = ("--repo", str(self.bench.repository), "--state", str(self.bench.root / "state"))
        verbs = (("logs", "--all"), ("status",), ("show", "latest", "a"))
        said = [orchestrate(*verb, *where, cwd=self.bench.root, env=env) for verb in verbs]
        assert [one.code for one in said] == [0, 0, 0], said
        return "".join(one.out + one.err for one in said)

    @property
    def outside(self) -> str:
        """What hooks and notifications, which run as the user, were told."""
        return "".join((self.bench.root / name).read_text() for name in ("hooks", "notified"))

    @property
    def body(self) -> str:
        """The text of the pull request."""
        pages = list((self.bench.root / "state").rglob("prs/*.md"))
        assert len(pages) == 1
        return pages[0].read_text()


def script() -> list[ScriptedReply]:
    commands = [uses("worker", "a", "shell", command=command) for command in PRINTING.values()]
    told = f"I found {SECRET}, or {ENCODED}"
    return [
        plans("root", {"key": "a", "title": f"Use {SECRET}"}),
        *commands,
        writes("a", "a.txt", "harmless\n"),
        worker_ends("a", told),
        reviews("a", "approve", told),
        planner_ends("root", told),
        judges("done", told),
    ]


async def leak(root: Path) -> Leaky:
    bench = Bench(root, calculator(root / "repo"))
    outside = {
        "hooks": [{"on": ["before_tool", "after_tool", "after_run"], "run": f"cat >>{root}/hooks", "trusted": True}],
        "notify": {"command": f"cat >>{root}/notified", "on": ["run.ended", "tool.returned", "task.created"]},
    }
    place = await create_goal_run(bench.options([], **TRIVIAL, **outside), f"make it better with {SECRET}")
    model = ScriptedModel(script())
    async with open_run(place, None, RunOverrides(client=model)) as context:
        await execute_run(context)
        assert context.state.ended is not None and context.state.ended.outcome == "done"
        return Leaky(bench, model, context.state)


@pytest.mark.attack(43)
async def test_a_secret_that_is_printed_or_said_arrives_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, SECRET)
    leaky = await leak(tmp_path)
    asked, kept, shown = leaky.asked, leaky.kept(), leaky.shown()
    for form in (SECRET, ENCODED, SECRET.encode().hex()):
        assert form not in asked
        assert form.encode() not in kept
        assert form not in shown
        assert form not in leaky.body
        assert form not in leaky.outside
    assert f"{FIRST}\\n{SECOND}" not in asked and f"{FIRST}\n{SECOND}".encode() not in kept
    assert MARK in shown and MARK in leaky.body
    assert [MARK in text for text in leaky.observed] == [True] * len(PRINTING), leaky.observed


@pytest.mark.attack(43)
async def test_without_the_redactor_it_would_have_arrived_everywhere(tmp_path: Path) -> None:
    assert NAME not in os.environ
    leaky = await leak(tmp_path)
    asked, kept, shown = leaky.asked, leaky.kept(), leaky.shown()
    for form in (SECRET, ENCODED, SECRET.encode().hex()):
        assert form in asked
        assert form.encode() in kept
    assert SECRET in shown
    assert SECRET in leaky.body
    assert SECRET in leaky.outside


@pytest.mark.attack(43)
async def test_a_run_in_which_secrets_were_taken_out_is_replayed_without_a_divergence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, SECRET)
    token = "ghp_" + "a1B2c3D4e5" * 4
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    prints = uses("worker", "a", "shell", command=PRINTING["plain"])
    says = uses("worker", "a", "shell", command=f"echo {SECRET} >>a.txt")
    fakes = writes("a", "test_fake.py", f"TOKEN = '{token}'\n")
    reads = uses("worker", "a", "read", path="test_fake.py")
    work = [prints, says, fakes, reads, worker_ends("a"), reviews("a")]
    ended = await bench.run(plans("root", {"key": "a"}), *work, planner_ends(), judges(), **TRIVIAL)
    assert ended.exit_code == 0
    landed = git(bench.repository, "show", f"{ended.state.run.branch}:test_fake.py")
    assert landed == f"TOKEN = '{token}'", "what a model makes up is written as it says"
    report = await replay_run(
        Options(bench.repository, {"state": {"dir": str(bench.root / "state")}}), None, ReplayOptions()
    )
    assert report.divergences == (), report


async def test_a_secret_in_a_file_cannot_land_and_the_worker_is_told_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, SECRET)
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    hides = uses("worker", "a", "shell", command=f"a={FIRST}; echo key = ${{a}}{SECOND} > settings.txt")
    mends = uses("worker", "a", "shell", command="echo key = environ > settings.txt")
    items = [plans("root", {"key": "a"}), hides, worker_ends("a"), mends, worker_ends("a"), reviews("a")]
    ended = await bench.run(*items, planner_ends(), judges(), **TRIVIAL)
    assert ended.exit_code == 0
    assert git(bench.repository, "show", f"{ended.state.run.branch}:settings.txt") == "key = environ"
    assert f"settings.txt holds the value of {NAME}" in str(ended.state.tasks[TaskId("a")].attempts[1].feedback)


SERVING = """
import ctypes, os, sys
from orchestrator.cli.main import main
if os.getuid() == 0:
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # changing the user has hidden us: be as any other process again
print("open", flush=True)
sys.stdin.readline()
try:
    main(["--version"])
except SystemExit:
    print("begun", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def engine() -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", SERVING]
    with subprocess.Popen(
        words, env=os.environ | {NAME: SECRET}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def same_user_reads(pid: int) -> bytes:
    """The environment of a process, as far as another one of the same user can read it."""
    usual = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
    words = ["cat", f"/proc/{pid}/environ"]
    return subprocess.run(words, capture_output=True, check=False, cwd="/", **usual).stdout  # type: ignore[call-overload]


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.attack(3)
def test_no_other_process_of_the_same_user_reads_the_environment_of_ours(engine: "subprocess.Popen[str]") -> None:
    assert engine.stdin is not None
    assert heard(engine) == "open"
    assert SECRET.encode() in same_user_reads(engine.pid), "any process can be read, before it hides"
    engine.stdin.write("\n")
    engine.stdin.flush()
    while (line := heard(engine)) != "begun":
        assert line, "it ended"
    assert same_user_reads(engine.pid) == b""
    limits = Path(f"/proc/{engine.pid}/limits").read_text()
    assert re.search(r"^Max core file size +0 +0 ", limits, re.MULTILINE), limits


@pytest.mark.attack(43)
async def test_settings_that_hold_a_secret_are_refused_before_they_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, SECRET)
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    hooks = [{"on": "after_run", "run": f"curl -H 'X-Key: {SECRET}' http://localhost", "trusted": True}]
    with pytest.raises(UsageProblem, match=f"holds the value of {NAME}"):
        await create_goal_run(bench.options([], **TRIVIAL, hooks=hooks), "make it better")
    state = (path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
    assert SECRET.encode() not in b"".join(state)


@pytest.mark.attack(43)
async def test_settings_given_to_a_run_that_stopped_are_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    await create_goal_run(bench.options([], **TRIVIAL), "make it better")
    monkeypatch.setenv(NAME, SECRET)
    with pytest.raises(UsageProblem, match=f"holds the value of {NAME}"):
        await bench.resume(gate={"command": f"curl -u {SECRET} http://localhost"})
    kept = (path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
    assert SECRET.encode() not in b"".join(kept)

"""ACP agents that mean harm, in the sandbox: none gets, lands or leaves anything."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.guests import GuestSessionOpened, GuestStarted
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from tests.engine.test_guest_attacks import find_processes
from tests.engine.test_guests import AGENT, list_events, run_with
from tests.running.goals import Bench, When, status
from tests.running.projects import calculator, git

pytestmark = [pytest.mark.sandbox, pytest.mark.extended]

KEY, VARIABLE, LENT = "key-of-the-host-4711", "variable-of-the-host-4712", "lent-to-it-4713"
ASKS = '[[rule]]\neffect = "ask"\nwrites = "infra/**"\n'


def attack(way: str, root: Path, seconds: str, **more: Any) -> Mapping[str, Any]:
    """Flags of a run whose worker attacks in this way."""
    folders = [str(AGENT), *dict.fromkeys((sys.prefix, sys.base_prefix))]
    command = [sys.executable, str(AGENT / "hostile_agent.py"), way, str(root), seconds]
    table = {"protocol": "acp", "command": command, "read_only": folders, "tier": 1, "max_turns": 6, **more}
    return {"engines": {"foe": table}}


def hide_keys(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put what is not to be had beside the workspace and into the engine's own variables."""
    (root / "keys").mkdir()
    (root / "keys" / "id_secret").write_text(f"{KEY}\n")
    monkeypatch.setenv("HOST_ONLY", VARIABLE)
    monkeypatch.setenv("LENT_KEY", LENT)


def read_words(ended: RunExit) -> str:
    """What the agent said in the end; empty if it came to none."""
    handoff = ended.state.tasks[TaskId("triple")].ends[-1].handoff
    return handoff.summary if handoff else ""


def list_hooks(repository: Path) -> list[str]:
    """The hooks of the user's repository, but for examples."""
    return [hook.name for hook in (repository / ".git" / "hooks").glob("*") if hook.suffix != ".sample"]


async def test_the_same_agent_lands_where_it_is_honest(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    hide_keys(bench.root, monkeypatch)
    ended = await run_with(bench, attack("honest", bench.root, "986.0", env=["LENT_KEY"]))
    assert status(ended, "triple") == TaskStatus.MERGED, ended.state.tasks[TaskId("triple")].reason
    assert "The tests ended with 0." in read_words(ended)
    assert [one.begun for one in list_events(ended, GuestStarted)] == [1]
    assert [(one.agent_session, one.is_loaded) for one in list_events(ended, GuestSessionOpened)] == [("s1", False)]


@pytest.mark.parametrize(
    ("way", "refused", "detail"),
    [
        ("reading", 4, ""),
        ("writing", 3, ""),
        ("protected", 5, ""),
        ("nagging", 0, "after 6 turns"),
        ("leaving", 0, ""),
        ("flooding", 0, "after 6 turns"),
        ("endless", 0, "after 4 s"),
        ("lying", 0, ""),
        ("malformed", 0, "are no messages"),
    ],
)
async def test_a_hostile_agent_gets_nothing_lands_nothing_and_leaves_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, way: str, refused: int, detail: str
) -> None:
    hide_keys(bench.root, monkeypatch)
    before, hooks = git(bench.repository, "rev-parse", "HEAD"), list_hooks(bench.repository)
    config = (bench.repository / ".git" / "config").read_bytes()
    seconds = f"986.{len(way)}{ord(way[0])}"
    policy = bench.root / "policy.toml"
    policy.write_text(ASKS)
    limits = {"timeout_s": 4 if way == "endless" else 60, "env": ["LENT_KEY"]}
    alive = list[Sequence[int]]()
    heard = When("snapshot.taking", lambda _: alive.append(find_processes(seconds)))
    ended = await run_with(bench, attack(way, bench.root, seconds, **limits), heard, policy={"file": str(policy)})
    task, words = ended.state.tasks[TaskId("triple")], read_words(ended)
    assert status(ended, "triple") != TaskStatus.MERGED
    assert ended.state.landings == []
    assert detail in task.ends[-1].detail
    if not detail:
        assert "All 40 tests pass" in words  # its lie is kept, and counted for nothing
    assert words.count("refused ") == refused
    assert "GOT" not in words
    journal = ended.directory.journal.read_bytes()
    for secret in (KEY, VARIABLE, LENT):
        assert secret.encode() not in journal
        assert secret[::-1].encode() not in journal
    assert list(bench.root.rglob("outside-*")) == []
    assert alive == [[]]  # when its files were taken
    assert find_processes(seconds) == []
    assert (git(bench.repository, "rev-parse", "HEAD"), list_hooks(bench.repository)) == (before, hooks)
    assert (bench.repository / ".git" / "config").read_bytes() == config
    assert len(ended.state.pending_approvals) == (10 if way == "nagging" else 0)


def test_the_same_attacks_succeed_where_nothing_holds_them(tmp_path: Path) -> None:
    calculator(tmp_path / "repo")
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "id_secret").write_text(f"{KEY}\n")
    words = [sys.executable, str(AGENT / "hostile_agent.py"), "alone", str(tmp_path), "986.9"]
    env = {**os.environ, "HOST_ONLY": VARIABLE}
    done = subprocess.run(words, cwd=tmp_path / "repo", env=env, capture_output=True, text=True, check=False)
    left = find_processes("986.9")
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert KEY in done.stdout
    assert VARIABLE in done.stdout
    assert len(left) >= 2
    assert len(list(tmp_path.rglob("outside-*"))) == 3

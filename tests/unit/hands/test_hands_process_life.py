"""Whole processes of ours: killed in the middle, and started by a normal user."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.running.users import as_a_normal_user

pytestmark = pytest.mark.sandbox

SOURCE = Path(__file__).parents[3]

DRIVER = """
import json, sys, time
from pathlib import Path
import anyio
from orchestrator.domain.purpose import Purpose
from orchestrator.hands.local import open_local_hands
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.ports.hands import ShellCommand
from worktrees.repositories.repository import GitRepository

async def main(repo, home, state, *lines):
    repository = GitRepository.open(Path(repo))
    async with open_local_hands(repository, Path(state), home=Path(home), environ={}) as hands:
        print(json.dumps({"refusal": hands.refusal_reason, "uid": hands.policy.uid}), flush=True)
        workspace = await hands.open_workspace(repository.read_head_commit(), Purpose("driver"))
        for line in lines:
            result = await run_command(workspace, ShellCommand(line=line))
            print(json.dumps([result.ending, result.exit_code, result.log.read_text()]), flush=True)

anyio.run(main, *sys.argv[1:])
"""


def drive(yard: Any, *lines: str, prefix: tuple[str, ...] = (), **options: Any) -> "subprocess.Popen[str]":
    words = [*prefix, sys.executable, "-c", DRIVER, str(yard.repo), str(yard.home), str(yard.state), *lines]
    return subprocess.Popen(words, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def is_called(name: str, pid: int) -> bool:
    """Whether a process runs under this name; one that is gone does not."""
    try:
        return Path(f"/proc/{pid}/comm").read_text() == f"{name}\n"
    except OSError:
        return False


@pytest.mark.attack(13)
def test_killing_our_process_leaves_no_process_of_the_sandbox(yard: Any, living: Callable[[str], list[int]]) -> None:
    line = "sleep 984.1 & (setsid sleep 984.1 &) ; sleep 984.1"
    with drive(yard, line) as driver:
        assert driver.stdout is not None
        assert '"refusal": null' in driver.stdout.readline()
        until = time.monotonic() + 90
        while len([p for p in living("984.1") if is_called("sleep", p)]) < 3:
            assert time.monotonic() < until
            time.sleep(0.01)
        (session,) = (yard.state / "sessions").glob("[0-9a-f]*")
        assert len(living(str(session))) >= 1
        driver.send_signal(signal.SIGKILL)
        until = time.monotonic() + 60
        while left := living("984.1") + living(str(session)):
            assert time.monotonic() < until, left
            time.sleep(0.01)


def test_killing_our_process_at_any_moment_of_a_commands_start_leaves_none(
    yard: Any, living: Callable[[str], list[int]]
) -> None:
    for turn in range(4):
        with drive(yard, *["true"] * 400) as driver:
            assert driver.stdout is not None
            driver.stdout.readline()
            driver.stdout.readline()
            time.sleep(0.0029 * turn)
            driver.send_signal(signal.SIGKILL)
        until = time.monotonic() + 60
        while left := [p for p in living(str(yard.state)) if p != os.getpid()]:
            assert time.monotonic() < until, [Path(f"/proc/{p}/cmdline").read_bytes() for p in left]
            time.sleep(0.01)


def test_a_sandbox_that_was_half_built_when_our_process_was_killed_is_ended(tmp_path: Path) -> None:
    """Bubblewrap waits for a uid map that nobody writes: what is left of it when its starter dies at a bad moment."""
    script = (
        "import os, signal, subprocess, sys\nfrom pathlib import Path\n"
        "from orchestrator.hands.files.session_folder import run_orphan_reaper\n"
        "with run_orphan_reaper(Path(sys.argv[1])):\n"
        "    read, write = os.pipe()\n"
        "    words = ['bwrap', '--unshare-user', '--info-fd', '1', '--userns-block-fd', str(read)]\n"
        "    words += ['--ro-bind', '/', '/', '--setenv', 'A', sys.argv[1] + '/git', 'true']\n"
        "    sandbox = subprocess.Popen(words, pass_fds=(read, write), stdout=subprocess.PIPE)\n"
        "    sandbox.stdout.read(1)\n"
        "    print(sandbox.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    words = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(words, check=False, cwd=SOURCE, stdout=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while Path(f"/proc/{int(done.stdout)}/status").exists():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.skipif(os.geteuid() != 0, reason="started by a normal user every other test is this one")
def test_a_normal_user_needs_no_root(yard: Any, tmp_path: Path) -> None:
    for parent in tmp_path.parents:
        if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o055)
    for folder, _, names in os.walk(tmp_path):
        for name in (".", *names):
            os.lchown(Path(folder) / name, 65534, 65534)
    lines = (
        "[ $(id -u) != 0 ] && echo user; git status --short; echo x > new",
        "git status --short; cat /etc/shadow; ls -A ~",
    )
    with drive(yard, *lines, prefix=as_a_normal_user(), env={**os.environ, "HOME": str(yard.home)}) as driver:
        out, err = driver.communicate(timeout=180)
    assert out.splitlines() == [
        '{"refusal": null, "uid": null}',
        '["exited", 0, "user\\n"]',
        '["exited", 0, "?? new\\ncat: /etc/shadow: No such file or directory\\n"]',
    ], err

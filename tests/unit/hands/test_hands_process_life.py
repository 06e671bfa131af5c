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

pytestmark = pytest.mark.sandbox

SOURCE = Path(__file__).parents[3]

DRIVER = """
import json, sys, time
from pathlib import Path
import anyio
from orchestrator.hands.local import local_hands
from orchestrator.hands.run import run_command
from orchestrator.ports.hands import Command
from worktrees.repository import Repository

async def main(repo, home, state, *lines):
    repository = Repository.open(Path(repo))
    async with local_hands(repository, Path(state), home=Path(home), environ={}) as hands:
        print(json.dumps({"refusal": hands.refusal, "uid": hands.policy.uid}), flush=True)
        workspace = await hands.open(repository.head(), "driver")
        for line in lines:
            result = await run_command(workspace, Command(line=line))
            print(json.dumps([result.ending, result.exit_code, result.log.read_text()]), flush=True)

anyio.run(main, *sys.argv[1:])
"""


def drive(yard: Any, *lines: str, prefix: tuple[str, ...] = (), **options: Any) -> "subprocess.Popen[str]":
    words = [*prefix, sys.executable, "-c", DRIVER, str(yard.repo), str(yard.home), str(yard.state), *lines]
    return subprocess.Popen(words, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_13_killing_our_process_leaves_no_process_of_the_sandbox(yard: Any, living: Callable[[str], list[int]]) -> None:
    line = "sleep 984.1 & (setsid sleep 984.1 &) ; sleep 984.1"
    with drive(yard, line) as driver:
        assert driver.stdout is not None
        assert '"refusal": null' in driver.stdout.readline()
        until = time.monotonic() + 10
        while len([p for p in living("984.1") if Path(f"/proc/{p}/comm").read_text() == "sleep\n"]) < 3:
            assert time.monotonic() < until
            time.sleep(0.01)
        (session,) = (yard.state / "sessions").glob("[0-9a-f]*")
        assert len(living(str(session))) >= 1
        driver.send_signal(signal.SIGKILL)
        until = time.monotonic() + 2
        while left := living("984.1") + living(str(session)):
            assert time.monotonic() < until, left
            time.sleep(0.01)


def test_killing_our_process_again_and_again_while_commands_start_leaves_none(
    yard: Any, living: Callable[[str], list[int]]
) -> None:
    for turn in range(4):
        with drive(yard, *["sleep 0.01; : 984.2"] * 400) as driver:
            assert driver.stdout is not None
            driver.stdout.readline()
            driver.stdout.readline()
            time.sleep(0.013 * turn)
            driver.send_signal(signal.SIGKILL)
        until = time.monotonic() + 2
        while left := [p for p in living(str(yard.state)) if p != os.getpid()]:
            if time.monotonic() > until:  # a sandbox half built when its starter died: the next start ends it
                with drive(yard, "true") as driver:
                    driver.communicate()
                assert [p for p in living(str(yard.state)) if p in left] == []
                break
            time.sleep(0.01)


def as_a_normal_user() -> tuple[str, ...]:
    """Starts a command as an ordinary user who can read our interpreter, wherever it is."""
    if os.geteuid() != 0:
        return ()
    base = Path(sys.base_prefix)
    closed = next((p for p in reversed(base.parents) if not p.stat().st_mode & 0o001), None)
    words = ["bwrap", "--dev-bind", "/", "/"]
    if closed is not None:
        steps = [p for p in reversed(base.parents) if p.is_relative_to(closed) and p != closed]
        words += ["--tmpfs", str(closed), "--chmod", "0755", str(closed)]
        words += [word for step in steps for word in ("--dir", str(step))]
        words += ["--ro-bind", str(base), str(base)]
    return (*words, "--chdir", str(SOURCE), "--", "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


@pytest.mark.skipif(os.geteuid() != 0, reason="started by a normal user every other test is this one")
def test_a_normal_user_needs_no_root(yard: Any, tmp_path: Path) -> None:
    for parent in tmp_path.parents:
        if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o055)
    for folder, _, names in os.walk(tmp_path):
        for name in (".", *names):
            os.lchown(Path(folder) / name, 65534, 65534)
    lines = ("id -u; git status --short; echo x > new", "git status --short; cat /etc/shadow; ls -A ~")
    with drive(yard, *lines, prefix=as_a_normal_user(), env={**os.environ, "HOME": str(yard.home)}) as driver:
        out, err = driver.communicate(timeout=30)
    assert out.splitlines() == [
        '{"refusal": null, "uid": null}',
        '["exited", 0, "65534\\n"]',
        '["exited", 0, "?? new\\ncat: /etc/shadow: No such file or directory\\n"]',
    ], err

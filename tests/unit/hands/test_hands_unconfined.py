"""Commands without a sandbox: what is still kept."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.errors import UsageProblem
from orchestrator.hands.policy import SandboxGrant
from orchestrator.ports.hands import CommandEnding

UNSAFE = SandboxGrant(without_sandbox=True)


@pytest.fixture(autouse=True)
def _passable(tmp_path: Path) -> None:
    """Whoever commands run as must be able to come by."""
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_uid == os.geteuid() == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o055)


async def test_what_a_command_leaves_running_is_killed(
    yard: Any, shell_in: Any, living: Callable[[str], list[int]]
) -> None:
    async with yard.hands(UNSAFE) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, "sleep 981.1 & (setsid sleep 981.2 &) ; echo main; exit 3")
        assert (ran.output, ran.exit_code) == ("main\n", 3)
        late = await shell_in(workspace, "(setsid sleep 981.3 &) ; sleep 981.4", timeout_s=0.5)
        assert late.result.ending == CommandEnding.TIMED_OUT
        assert living("981.") == []


async def test_variables_are_built_from_scratch_and_git_works_on_a_copy(
    yard: Any, shell_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "canary-4712")
    async with yard.hands(UNSAFE) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, "env; echo x > new; git add new; git commit -qm mine; git log --format=%s")
        assert "canary" not in ran.output
        assert ran.output.splitlines()[-2:] == ["mine", "Start"]
    assert yard.git("log", "--all", "--format=%s") == "Start"


async def test_files_are_handed_back(yard: Any, shell_in: Any) -> None:
    async with yard.hands(UNSAFE) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, 'echo made > "$MADE"', files={"MADE": "made.txt"})
        assert ran.result.files == {"MADE": b"made\n"}, ran.output


async def test_ci_refuses_it(yard: Any) -> None:
    with pytest.raises(UsageProblem, match="refused in CI"):
        async with yard.hands(UNSAFE, environ={"CI": "true"}):
            pass


async def test_a_command_runs_and_is_stopped_however_many_files_the_harness_has_open(yard: Any, shell_in: Any) -> None:
    with ExitStack() as stack:
        for _ in range(1_100):
            stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        async with yard.hands(UNSAFE) as hands:
            workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
            ran = await shell_in(workspace, "echo main; exit 3")
            assert (ran.output, ran.exit_code) == ("main\n", 3)
            late = await shell_in(workspace, "sleep 982.1", timeout_s=0.5)
            assert late.result.ending == CommandEnding.TIMED_OUT

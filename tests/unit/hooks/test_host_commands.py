"""Commands of the user's own: told on stdin, bounded, ended with all they started."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.errors import EnvironmentProblem
from orchestrator.hooks.host_command import MAX_OUTPUT_BYTES, run_on_host


async def test_a_command_reads_what_it_is_told_and_both_outputs_are_kept_apart(tmp_path: Path) -> None:
    ran = await run_on_host("cat; echo oops >&2; exit 3", "{}", tmp_path, 30)
    assert (ran.exit_code, ran.stdout, ran.stderr, ran.problem) == (3, "{}", "oops\n", "")


async def test_a_command_has_nothing_of_the_identity_and_trace_of_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ORCHESTRATE_TASK", "ORCHESTRATE_MODEL", "TRACEPARENT", "TRACESTATE", "ORCHESTRATE_TOKEN_OF_MINE"):
        monkeypatch.setenv(name, "outer")
    ran = await run_on_host("env", "", tmp_path, 30, {"ORCHESTRATE_RUN": "inner", "TRACEPARENT": "inner"})
    told = [line for line in ran.stdout.splitlines() if line.startswith(("ORCHESTRATE_", "TRACE"))]
    assert sorted(told) == ["ORCHESTRATE_RUN=inner", "ORCHESTRATE_TOKEN_OF_MINE=outer", "TRACEPARENT=inner"]


async def test_a_command_that_reads_nothing_is_no_problem(tmp_path: Path) -> None:
    assert (await run_on_host("true", "x" * 1_000_000, tmp_path, 30)).exit_code == 0


async def test_output_beyond_the_limit_is_dropped(tmp_path: Path) -> None:
    ran = await run_on_host("head -c 1000000 /dev/zero | tr '\\0' a", "", tmp_path, 30)
    assert (ran.exit_code, len(ran.stdout)) == (0, MAX_OUTPUT_BYTES)


async def test_a_late_command_is_ended_with_all_it_started(tmp_path: Path) -> None:
    ran = await run_on_host("sleep 3600 & echo $! >child; sleep 3600", "", tmp_path, 0.5)
    assert (ran.exit_code, ran.problem) == (None, "it was ended after 0.5 s")
    wait_until_dead(tmp_path)


async def test_what_a_command_leaves_running_is_ended_when_it_exits(tmp_path: Path) -> None:
    ran = await run_on_host("sleep 3600 & echo $! >child; exit 0", "", tmp_path, 30)
    assert ran.exit_code == 0
    wait_until_dead(tmp_path)


async def test_a_signal_is_told_apart_from_an_exit_code(tmp_path: Path) -> None:
    ran = await run_on_host("kill -9 $$", "", tmp_path, 30)
    assert (ran.exit_code, ran.problem) == (None, "it was ended by signal 9")


async def test_a_command_that_cannot_be_started_is_a_problem_of_the_environment(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="could not be started"):
        await run_on_host("true", "", tmp_path / "gone", 30)


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="nothing here ties a command to our life")
def test_a_command_dies_with_the_process_that_runs_it(tmp_path: Path) -> None:
    program = (
        "import anyio, pathlib, orchestrator.hooks.host_command as host\n"
        f"anyio.run(host.run_on_host, 'echo $$ >child.new; mv child.new child; exec sleep 63', '', "
        f"pathlib.Path({str(tmp_path)!r}), 60)"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        while not (tmp_path / "child").exists():
            time.sleep(0.02)
        assert is_alive(tmp_path)
        process.kill()
    wait_until_dead(tmp_path)


def wait_until_dead(place: Path) -> None:
    """Until the kernel has carried out what it was told; left alone, the process would live for an hour."""
    while is_alive(place):
        time.sleep(0.02)


def is_alive(place: Path) -> bool:
    """Whether the process that the command started still runs; one that is dead but not yet reaped does not."""
    try:
        state = Path(f"/proc/{int((place / 'child').read_text())}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")

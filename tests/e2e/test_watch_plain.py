"""Watching without a screen: lines, no escape codes, the run's exit code, and answers that are typed."""

import os
import pty
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.running.cli import COMMAND, environment, orchestrate
from tests.running.goals import Bench, one
from tests.running.projects import calculator

pytestmark = [pytest.mark.sandbox]


@pytest.fixture
async def asking(tmp_path: Path) -> Bench:
    """A run that waits for an answer before its pull request, without a process."""
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    ended = await bench.run(*one("a"), approval={"mode": "pr"})
    assert ended.exit_code == 6
    return bench


def words(bench: Bench) -> tuple[str, ...]:
    return ("--state", str(bench.root / "state"))


def terminal(bench: Bench, **more: str) -> dict[str, str]:
    return {name: value for name, value in environment(bench.root).items() if name != "CI"} | more


async def test_without_a_screen_there_are_lines_without_escape_codes_and_the_runs_exit_code(asking: Bench) -> None:
    for how in ({"CI": "1"}, {"TERM": "dumb"}, {"TERM": "xterm", "ORCHESTRATE_TUI": "0"}, {"TERM": "xterm"}):
        done = orchestrate("watch", *words(asking), cwd=asking.repository, env=terminal(asking, **how))

        assert done.code == 6, done.err
        assert "\x1b" not in done.out + done.err
        assert "? q1  pull-request" in done.out
        assert "  or: orchestrate approve " in done.out
        assert "(or reject)" in done.out


async def test_standard_error_in_a_file_gets_no_screen(asking: Bench) -> None:
    with (asking.root / "err.log").open("wb") as errors:
        code, said = _typed(asking, ("watch", "--read-only"), (), errors, TERM="xterm")

    assert code == 6
    assert "\x1b" not in said + (asking.root / "err.log").read_text()


@pytest.mark.slow
async def test_what_a_run_asks_is_answered_by_typing_and_it_goes_on_to_its_end(asking: Bench) -> None:
    code, said = _typed(asking, ("watch",), ("approve q7", "approve q1"), subprocess.STDOUT, TERM="dumb")

    assert code == 0, said
    assert "has asked no q7" in said
    assert re.search(r"q1 \S+ approved by \S+", said)
    assert "pull request (local)" in said
    assert "\x1b" not in said


def _typed(
    bench: Bench, verb: Sequence[str], lines: Sequence[str], errors: BinaryIO | int, **more: str
) -> tuple[int, str]:
    """Exit code and output of a command to which lines are typed, on a terminal that it only reads from."""
    master, slave = pty.openpty()
    try:
        with subprocess.Popen(
            [*COMMAND, *verb, *words(bench)],
            cwd=bench.repository,
            env=terminal(bench, **more),
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process:
            os.write(master, "".join(f"{line}\n" for line in lines).encode())
            assert process.stdout
            said = process.stdout.read().decode()
        return process.returncode, said
    finally:
        os.close(slave)
        os.close(master)

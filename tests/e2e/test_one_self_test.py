"""The sandbox's self-test runs once for each engine of a run, in the engine; seen from the host, by what is started."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from orchestrator.hands.selftest import escape_test
from tests.running.cli import environment
from tests.running.projects import calculator
from tests.running.scripts import plans, write_script

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="standing in for a program in a mount namespace needs root"),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]

ATTACK = (Path(escape_test.__file__).parent / "escape_attempts.py").read_text().splitlines()[0].strip('"')
RECORDER = """#!/bin/sh
case "$*" in *"{attack}"*) echo "$PPID" >> {folder}/tests;; esac
exec {folder}/bwrap "$@"
"""


@pytest.fixture
def recorder() -> Iterator[Path]:
    """A directory with a program that notes self-tests and then is bubblewrap; whoever runs commands can reach it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy2(str(shutil.which("bwrap")), folder / "bwrap")
        (folder / "tests").touch()
        (folder / "tests").chmod(0o666)
        (folder / "recorder").write_text(RECORDER.format(attack=ATTACK, folder=folder))
        (folder / "recorder").chmod(0o755)
        yield folder


def call(recorder: Path, repo: Path, *words: str) -> subprocess.CompletedProcess[str]:
    line = f'mount --bind {recorder}/recorder {shutil.which("bwrap")} && exec "$@"'
    where = ("--repo", str(repo), "--state", str(repo.parent / "state"))
    return subprocess.run(
        ["unshare", "--mount", "bash", "-c", line, "-", sys.executable, "-m", "orchestrator", *words, *where],
        cwd=repo.parent,
        env=environment(repo.parent),
        capture_output=True,
        text=True,
        check=False,
    )


def count_self_tests(recorder: Path) -> int:
    return len((recorder / "tests").read_text().splitlines())


def models(repo: Path) -> Sequence[str]:
    script = write_script(repo.parent / "script.json", [plans("root", {"key": "a"})])
    return [word for role in ("planner", "worker", "judge") for word in ("--set", f"roles.{role}.model={script}")]


@pytest.mark.extended
def test_a_run_tests_its_sandbox_once_and_so_does_each_engine_that_goes_on_with_it(recorder: Path, repo: Path) -> None:
    given = ("--gate", "python3 -m unittest -q", "--set", "budget.calls=1", "--set", "budget.reserve=0")
    first = call(recorder, repo, "run", "make it better", *given, *models(repo))
    assert "run " in first.stderr, first.stderr
    assert count_self_tests(recorder) == 1, first.stderr
    again = call(recorder, repo, "resume")
    assert count_self_tests(recorder) == 2, again.stderr


def test_where_the_sandbox_does_not_hold_the_engine_refuses_before_any_command(recorder: Path, repo: Path) -> None:
    (recorder / "bwrap").write_text("#!/bin/sh\ncase $1 in --version|--help) echo bubblewrap; exit;; esac\nexit 1\n")
    given = ("--gate", "touch RAN", "--set", "hands.backend=bubblewrap")
    done = call(recorder, repo, "run", "make it better", *given, *models(repo))
    assert done.returncode == 7, done.stderr
    assert "The sandbox does not start" in done.stderr
    assert not list(repo.parent.rglob("RAN"))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return calculator(tmp_path / "repo")

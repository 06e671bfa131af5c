"""The inside of a run on mutants: a plugin that makes one process of pytest for each, before anything is imported.

It is never imported here: its text goes into the sandbox, together with that of `reaching_tests`, where the project's
own pytest loads it. For each mutant its process writes the altered file and forks; in the child pytest goes on with the
tests that reach the file until one fails. At the end it writes the report, a failure where a test noticed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import pytest

if TYPE_CHECKING:
    from orchestrator.judge.repeats.reaching_tests import choose_items

MUTANTS: tuple[tuple[str, str, int, int, bytes], ...] = ()
SECONDS = 0.0
"""Lines put after this text give their values: text, path, offset, removed and inserted of each, and the limit."""
FOLDER = Path(__file__).parent
LEAST_SECONDS = 2.0
ALTERED: list[str] = []
"""The file that is altered, in a process that tests a mutant."""


def run_mutants() -> None:
    """Test all mutants and end the process; in that of a mutant, and wherever they are tested already, return."""
    workspace, _, report = (FOLDER / "places.txt").read_text().partition("\n")
    try:
        (FOLDER / "begun").touch(exist_ok=False)
    except FileExistsError:
        if (FOLDER / "done").exists():
            os._exit(0)  # a further start of pytest by the same command
        return
    deadline = time.monotonic() + SECONDS
    endings: dict[str, str] = {}
    for number, (text, path, offset, removed, inserted) in enumerate(MUTANTS):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        file = Path(workspace, path)
        source = file.read_bytes()
        write_file(file, source[:offset] + inserted + source[offset + removed :], number)
        limit = min(left, max(LEAST_SECONDS, 2 * left / (len(MUTANTS) - number)))
        ending = test_altered_file(str(file), limit)
        if not ending:
            return
        endings[text] = ending
        sys.stdout.write(f"{ending}: {text}\n")
        file.write_bytes(source)
    write_report(report, endings)
    sys.stdout.flush()
    (FOLDER / "done").touch()
    os._exit(0)


def write_file(file: Path, source: bytes, number: int) -> None:
    """Write an altered file with a time of its own, so that nothing compiled from another version is taken for it."""
    file.write_bytes(source)
    when = time.time() + 10 * (number + 1)
    os.utime(file, (when, when))


def test_altered_file(path: str, limit: float) -> str:
    """Fork and return how the tests of an altered file ended; an empty text in the child, which goes on with them."""
    for name in ("noticed", "passed"):
        (FOLDER / name).unlink(missing_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.setsid()
        ALTERED.append(path)
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        silence_output()
        return ""
    is_ended = wait_for_child(child, limit)
    with contextlib.suppress(OSError):  # what it may have left behind
        os.killpg(child, signal.SIGKILL)
    if (FOLDER / "noticed").exists():
        return "noticed"
    if is_ended and (FOLDER / "passed").exists():
        return "survived"
    return "unknown"


def silence_output() -> None:
    """Let nothing of this process be printed: what fails on an altered file would look like a failure of the change."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def wait_for_child(child: int, limit: float) -> bool:
    """Return True if the child ended by itself in time; kill it otherwise."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.WIFEXITED(status) and os.WEXITSTATUS(status) in {0, 1}
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def write_report(path: str, endings: dict[str, str]) -> None:
    """Write a JUnit report with a test for each mutant."""
    insides = {"noticed": "<failure/>", "unknown": "<skipped/>", "survived": ""}
    cases = ""
    for text, ending in endings.items():
        cases += f'<testcase classname="mutants" name={quoteattr(text)}>{insides[ending]}</testcase>'
    Path(path).write_text(f"<testsuite>{cases}</testsuite>", encoding="utf-8")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Have the first failure end the run of a mutant, which writes no report of its own."""
    if ALTERED:
        config.option.xmlpath = None
        config.option.maxfail = 1


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave only the tests that reach the altered file."""
    if ALTERED:
        items[:] = choose_items(items, (ALTERED[0],))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note a module that cannot be collected any more."""
    if ALTERED and report.failed:
        (FOLDER / "noticed").touch()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note that a test failed, or passed."""
    if not ALTERED:
        return
    if report.failed:
        (FOLDER / "noticed").touch()
    elif report.passed and report.when == "call":
        (FOLDER / "passed").touch()

"""What a command opened and wrote in its workspace, seen from the host."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.hands.watch.file_watch import FileWatch
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import CommandResult, ShellCommand

pytestmark = pytest.mark.sandbox

FILES = {
    "tests/test_x.py": "assert True\n",
    "tests/data/golden.json": "{}\n",
    "pkg/money.py": "ONE = 1\n",
    "docs/read.md": "words\n",
}


@pytest.fixture
async def checkout(yard: Any) -> AsyncIterator[LocalWorkspace]:
    commit = yard.commit(FILES)
    async with yard.hands() as hands:
        opened = await hands.open_workspace(commit, Purpose("test"))
        yield opened
        await opened.close()


async def watch(workspace: LocalWorkspace, line: str) -> CommandResult:
    return await run_command(workspace, ShellCommand(line=line, is_watched=True))


@pytest.mark.conformance
async def test_files_that_a_command_opens_are_named_and_no_others(checkout: LocalWorkspace) -> None:
    result = await watch(checkout, "cat pkg/money.py >/dev/null; cd tests && cat data/golden.json >seen; ls ../docs")
    assert (result.opened, result.written) == (("pkg/money.py", "tests/data/golden.json"), ())


async def test_a_command_that_nobody_wants_watched_is_not(checkout: LocalWorkspace) -> None:
    result = await run_command(checkout, ShellCommand(line="cat pkg/money.py"))
    assert (result.opened, result.written) == (None, None)


@pytest.mark.conformance
@pytest.mark.parametrize(
    "line",
    [
        "cp -p tests/test_x.py /tmp/kept; echo x >tests/test_x.py; cat /tmp/kept >tests/test_x.py",
        "cp -p tests/test_x.py tests/new; mv tests/new tests/test_x.py",
        "mv tests/test_x.py /tmp/moved-away; cp -p /tmp/moved-away tests/test_x.py",
        "ln tests/test_x.py other; echo x >other; echo 'assert True' >other; rm other",
        "mv tests t; mkdir tests; touch tests/test_x.py; rm -r tests; mv t tests",
        "exec 3<>tests/test_x.py; printf a >&3",
    ],
    ids=["rewritten", "replaced", "moved", "by-another-name", "with-its-folder", "in-place"],
)
async def test_a_file_that_is_as_it_was_at_the_end_was_written_all_the_same(
    checkout: LocalWorkspace, line: str
) -> None:
    result = await watch(checkout, line)
    assert result.exit_code == 0, result.log.read_text()
    assert result.written is not None
    assert "tests/test_x.py" in result.written
    assert "pkg/money.py" not in result.written


async def test_a_program_in_the_workspace_counts_as_opened_when_it_is_run(yard: Any) -> None:
    commit = yard.commit({"check": "#!/bin/sh\nexit 0\n", "lib.sh": "true\n"})
    yard.git("update-index", "--chmod=+x", "check")
    yard.git("commit", "--quiet", "--message", "executable")
    commit = yard.git("rev-parse", "HEAD")
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(commit, Purpose("test"))
        result = await watch(workspace, "./check")
        await workspace.close()
    assert (result.exit_code, result.opened) == (0, ("check",))


def test_where_too_much_happens_what_was_opened_is_unknown_and_what_was_written_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    watch = FileWatch(tmp_path, most_names=0)
    (tmp_path / "file").write_text("y")
    assert watch.finish_watch() == (None, ("file",))

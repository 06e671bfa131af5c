"""What a newcomer reads for a mistake: the sentence of docs/mistakes.md, no traceback, and nothing is lost."""

import os
import tomllib
from pathlib import Path

import anyio
import pytest

from orchestrator.app.run_execution import RunExit
from tests.running.goals import Bench, one
from tests.running.mistakes import (
    GATED,
    MODELS,
    PAGE,
    RUN,
    Mistake,
    add_submodule,
    assert_said,
    begin_merge,
    break_object,
    check_out_sparsely,
    clone_bare,
    clone_shallow,
    clone_without_files,
    commit_file,
    commit_many_files,
    forget_to_commit,
    give_away,
    install_old_git,
    name_directory_without_git,
    read_page,
    run_git,
    write_file,
)
from tests.running.pip import run_pip_install
from tests.running.projects import calculator, git

pytestmark = [pytest.mark.sandbox]
OLD_GIT = {"PATH": f"HOME/bin{os.pathsep}{os.environ['PATH']}"}
NO_IDENTITY = {"GIT_CONFIG_GLOBAL": "/dev/null"} | {
    name: "" for name in os.environ if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))
}
DOWNLOAD = "python3 -c 'import socket; socket.create_connection((\"files.example\", 80))'"
QUIET = ("--gate", "python3 -m unittest -q", "--set", "gate.report=unittest")
SILENT_RED = ("--gate", "false", "--set", "gate.report=exit-code")
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"


def commit_large_file(repo: Path) -> None:
    """Commit a file that no review can show."""
    commit_file("big.bin", os.urandom(30_000_000))(repo)


def commit_lfs_files(repo: Path) -> None:
    """Commit a pointer of git LFS."""
    (repo / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    commit_file("a.bin", POINTER)(repo)


MISTAKES = {
    "no git repository": Mistake(2, name_directory_without_git),
    "a repository without a commit": Mistake(2, forget_to_commit),
    "a new branch without a commit": Mistake(2, run_git("checkout", "-q", "--orphan", "new")),
    "a bare repository": Mistake(2, clone_bare),
    "a repository of another user": Mistake(2, give_away),
    "a partial clone": Mistake(2, clone_without_files),
    "a damaged object": Mistake(7, break_object),
    "a broken `.git/config`": Mistake(2, write_file(".git/config", "[core\n")),
    "a branch named as the prefix of PR branches": Mistake(2, run_git("branch", "orchestrate")),
    "a detached head": Mistake(0, run_git("checkout", "-q", "--detach")),
    "a shallow clone": Mistake(0, clone_shallow),
    "a sparse checkout": Mistake(0, check_out_sparsely),
    "submodules": Mistake(0, add_submodule),
    "files of git LFS": Mistake(0, commit_lfs_files),
    "a merge under way, changes that are not committed": Mistake(0, begin_merge),
    "a lock that a killed git left on the index": Mistake(0, write_file(".git/index.lock", "")),
    "spaces, quotes and dollars in the path": Mistake(0, name="my repo 'x' $(y)"),
    "names of files that are no text": Mistake(0, commit_file("bad\udcff.txt", b"x")),
    "ends of lines of Windows": Mistake(0, commit_file("crlf.py", b"x = 1\r\n")),
    "a file of 30 MB": Mistake(0, commit_large_file),
    "no name and email in git": Mistake(0, variables=NO_IDENTITY),
    "a broken `~/.gitconfig`": Mistake(0, write_file("../.gitconfig", "[user\n")),
    "an old git": Mistake(7, install_old_git, variables=OLD_GIT, is_process=True),
    "no git on PATH": Mistake(2, variables={"PATH": "HOME/bin"}, is_process=True),
    "no TERM": Mistake(0, variables={"TERM": ""}),
    "a TMPDIR that is not there": Mistake(0, variables={"TMPDIR": "HOME/gone"}),
    "a state directory that is a file": Mistake(7, write_file("../state", "")),
    "`orchestrate.toml` that is no TOML": Mistake(2, write_file("orchestrate.toml", "[gate\ncommand = 1")),
    "an unknown key": Mistake(2, write_file("orchestrate.toml", "[gate]\ncomand = 'x'\n")),
    "a value of the wrong type": Mistake(2, write_file("orchestrate.toml", "[gate]\ncommand = 3\n")),
    "a wrong value on the command line": Mistake(2, words=(*RUN, "--set", "gate.report=unitest")),
    "a project that names models": Mistake(2, write_file("orchestrate.toml", "[roles.worker]\nmodel = 'openai/x'\n")),
    "your own configuration is no TOML": Mistake(2, write_file("../.config/orchestrate/config.toml", "[roles\n")),
    "no model": Mistake(7, words=("run", "x", *GATED)),
    "no key for the model": Mistake(7, words=("run", "x", *GATED, "--model", "planner=openai/gpt-5")),
    "a role that does not exist": Mistake(2, words=("run", "x", *GATED, "--model", "planer=openai/gpt-5")),
    "no gate": Mistake(2, words=("run", "x", *MODELS)),
    "an empty goal": Mistake(2, words=("run", "", *GATED, *MODELS)),
    "a gate program that is not there": Mistake(7, words=("run", "x", *MODELS, "--gate", "no-such-program -q")),
    "a gate whose Python module is not there": Mistake(
        7, words=("run", "x", *MODELS, "--gate", "python3 -m no_such_runner")
    ),
    "a target branch that does not exist": Mistake(2, words=(*RUN, "--target", "mian")),
    "a gate that tells only its exit code and is red on the base": Mistake(6, words=("run", "x", *MODELS, *SILENT_RED)),
    "a gate that needs the network": Mistake(6, words=("run", "x", *MODELS, "--gate", DOWNLOAD)),
    "a gate that names none of its tests": Mistake(7, words=("run", "x", *MODELS, *QUIET)),
    "a gate that hangs": Mistake(7, words=("run", "x", *MODELS, "--gate", "sleep 60", "--set", "gate.timeout_s=1")),
    "a gate that floods": Mistake(7, words=("run", "x", *MODELS, "--gate", "yes", "--set", "hands.output_mb=1")),
    "an archive that is damaged": Mistake(2, write_file("../a.orch", "junk"), words=("run", "import", "HOME/a.orch")),
    "a recipe that is not there": Mistake(2, words=("migrate", "run", "ghost.toml")),
    "a run that does not exist": Mistake(2, words=("status", "ghost")),
    "a verb that is mistyped": Mistake(2, words=("statsu",)),
}
"""Each mistake of the page, by its name there."""
ELSEWHERE = {
    "a full disk": "tests/e2e/test_hostile_machine.py",
    "a state directory that cannot be written to": "tests/e2e/test_hostile_machine.py",
    "a home directory that cannot be written to": "tests/e2e/test_hostile_machine.py",
    "no sandbox": "tests/e2e/test_bad_input.py",
    "a window of 20 by 5 letters": "tests/tui/test_frame.py",
    "75,000 files": "tests/e2e/test_mistakes.py",
    "two runs at once": "tests/e2e/test_mistakes.py",
    "Python 3.14": "tests/e2e/test_mistakes.py",
}
"""Mistakes of the page that take more than one command, and the file whose test names them."""


def test_the_page_has_every_mistake_that_is_tried_and_no_other() -> None:
    assert list(read_page()) == [*MISTAKES, *ELSEWHERE]
    for name, path in ELSEWHERE.items():
        assert f'assert_said("{name}"' in (PAGE.parents[1] / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_said_is_what_the_page_says_and_nothing_is_lost(name: str, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    if mistake.prepare is give_away and os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    done, place = mistake.make(tmp_path)
    assert done.code == mistake.code, done.err + done.out
    assert_said(name, done.err + done.out)
    assert (tmp_path / mistake.name / "calc.py").is_file()
    if mistake.code == 0:
        assert git(place, "rev-list", "-n1", "--branches", "--", "a.txt")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_75000_files_take_minutes_at_most_and_the_run_lands(tmp_path: Path) -> None:
    done, place = Mistake(0, commit_many_files).make(tmp_path)
    assert done.code == 0, done.err + done.out
    assert_said("75,000 files", done.err + done.out)
    assert git(place, "rev-list", "-n1", "--branches", "--", "a.txt")


async def test_two_runs_at_once_each_land_on_a_branch_of_their_own(tmp_path: Path) -> None:
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    ended: list[RunExit] = []

    async def run() -> None:
        ended.append(await bench.run(*one("a")))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        tasks.start_soon(run)
    assert [end.exit_code for end in ended] == [0, 0]
    assert len({git(bench.repository, "rev-parse", "--verify", f"{end.state.run.branch}") for end in ended}) == 2
    assert_said("two runs at once", " ".join(notice.text for end in ended for notice in end.state.notices))


@pytest.mark.slow
@pytest.mark.registry
@pytest.mark.timeout(400)
def test_python_3_14_has_a_wheel_of_every_dependency(tmp_path: Path) -> None:
    root = PAGE.parents[1]
    needed = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    options = ("--dry-run", "--ignore-installed", "--only-binary=:all:", "--python-version", "3.14")
    run_pip_install(*options, "--target", str(tmp_path), "-c", str(root / "constraints.txt"), *needed)
    assert_said("Python 3.14", "")

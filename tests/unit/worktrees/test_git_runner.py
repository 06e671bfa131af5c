"""The guarded runner: what it inherits, how it fails, waits, is cut short and is killed."""

import json
import os
import signal
import time
from pathlib import Path

import anyio
import pytest

from tests.unit.worktrees.conftest import Project, python, until
from worktrees.errors import GitError
from worktrees.git import Git, find_git_program, read_git_version
from worktrees.repositories.repository import GitRepository

ENDLESS = r"(x*)*\1y"
"""A pattern that keeps a regular expression engine busy for hours on a line of many x."""


def searches(place: Path) -> list[int]:
    """The git processes that search in a directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"grep" in words and (process / "cwd").readlink() == place:
                found.append(int(process.name))
        except OSError:
            continue
    return found


async def test_nothing_of_our_own_environment_reaches_git(
    project: Project, repository: GitRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    head = project.git("rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.repositoryformatversion'='9'")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "/")
    monkeypatch.setenv("SECRET_TOKEN", "canary")

    shown = await repository.git.run_text("var", "-l")
    listed = await repository.git.run_text("-c", "alias.show-env=!env", "show-env")

    assert await repository.git.run_text("rev-parse", "HEAD") == head
    assert "elsewhere" not in shown + listed
    assert "canary" not in listed


@pytest.mark.parametrize("words", [("hash-object", "-w", "--stdin"), ("update-ref", "refs/orchestrate/x", "HEAD")])
async def test_objects_and_refs_are_flushed_to_the_disk(
    repository: GitRepository, tmp_path: Path, words: tuple[str, ...]
) -> None:
    trace = tmp_path / "trace"
    await repository.git.run(*words, stdin=b"new\n", env={"GIT_TRACE2_EVENT": str(trace)})
    told = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [one["value"] for one in told if one.get("key") == "fsync/hardware-flush"] == ["1"]


async def test_a_failure_names_the_command_its_exit_code_and_what_git_said(repository: GitRepository) -> None:
    with pytest.raises(
        GitError, match=r"^git cat-file … failed \(128\): fatal: Not a valid object name nonsense$"
    ) as e:
        await repository.git.run("cat-file", "blob", "nonsense")

    assert (e.value.args_, e.value.exit_code) == (("cat-file", "blob", "nonsense"), 128)
    assert "nonsense" in e.value.stderr


async def test_an_exit_code_the_caller_expects_is_no_failure(repository: GitRepository) -> None:
    output = await repository.git.run("rev-parse", "--verify", "--quiet", "refs/heads/none", ok=(0, 1))

    assert (output.text, output.exit_code, output.is_cut) == ("", 1, False)


async def test_a_git_that_cannot_be_started_is_a_git_error(repository: GitRepository, tmp_path: Path) -> None:
    with pytest.raises(GitError, match=r"git rev-parse could not be started in .*gone"):
        await Git(tmp_path / "gone").run("rev-parse", "HEAD")
    with pytest.raises(GitError, match="could not be started"):
        await repository.git.run("rev-parse", *["x" * 100_000] * 100)


async def test_a_lock_that_another_process_releases_is_waited_for(project: Project, repository: GitRepository) -> None:
    lock = project.root / ".git" / "index.lock"
    lock.touch()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_remove_later, lock)
        await repository.checkout_git.run("update-index", "--force-remove", "README.md")

    assert "README.md" not in project.git("ls-files")


async def _remove_later(lock: Path) -> None:
    await anyio.sleep(0.1)
    await anyio.Path(lock).unlink()


async def test_a_lock_that_nobody_releases_is_an_error_after_a_while(
    project: Project, repository: GitRepository
) -> None:
    (project.root / ".git" / "index.lock").touch()

    with pytest.raises(GitError, match=r"index\.lock is in the way"):
        await repository.checkout_git.run("update-index", "--force-remove", "README.md")


async def test_output_beyond_the_limit_is_cut_and_git_ended(project: Project, repository: GitRepository) -> None:
    project.commit({"big.txt": "x" * 5_000_000})

    output = await repository.git.run("cat-file", "blob", "HEAD:big.txt", limit_bytes=1000)

    assert (output.stdout, output.is_cut) == (b"x" * 1000, True)


async def test_input_that_git_does_not_read_to_its_end_does_not_hang(repository: GitRepository) -> None:
    with pytest.raises(GitError, match="unknown option"):
        await repository.git.run("hash-object", "--stdin", "--nonsense", stdin=b"x" * 3_000_000)


async def test_a_cancelled_command_is_killed_with_all_it_started(repository: GitRepository, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    nap = f"alias.nap=!sleep 60 & echo $$ $! > {pids}; wait"

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(repository.git.run, "-c", nap, "nap")
        assert await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        tasks.cancel_scope.cancel()

    started = [int(pid) for pid in pids.read_text().split()]
    assert await until(lambda: not any(_is_alive(pid) for pid in started))


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_a_search_ends_when_its_caller_is_killed(project: Project) -> None:
    project.write({"x.txt": "x" * 5000})
    caller = python(
        "import anyio, pathlib, sys\n"
        "from worktrees.git import Git\n"
        "root = pathlib.Path(sys.argv[1])\n"
        "git = Git(root / '.git', work_tree=root)\n"
        "anyio.run(lambda: git.run('grep', '--untracked', '-E', sys.argv[2]))\n",
        str(project.root),
        ENDLESS,
    )
    try:
        assert await until(lambda: bool(searches(project.root)))
    finally:
        caller.send_signal(signal.SIGKILL)
        caller.communicate()

    assert await until(lambda: not searches(project.root))


async def test_many_commands_at_once_all_succeed(repository: GitRepository) -> None:
    heads = []

    async def ask() -> None:
        heads.append(await repository.git.run_text("rev-parse", "HEAD"))

    async with anyio.create_task_group() as tasks:
        for _ in range(40):
            tasks.start_soon(ask)

    assert heads == [repository.read_head_commit()] * 40


def test_a_program_of_the_same_name_in_a_relative_path_entry_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "git"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
    find_git_program.cache_clear()
    try:
        assert Path(find_git_program()) != fake
        assert Path(find_git_program()).is_absolute()
    finally:
        find_git_program.cache_clear()


def test_without_git_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    find_git_program.cache_clear()
    try:
        with pytest.raises(GitError, match="not found on PATH: install git"):
            Git(tmp_path).run_sync("version")
    finally:
        find_git_program.cache_clear()


def test_the_version_is_known() -> None:
    assert (2, 38) <= read_git_version() < (4,)


async def test_a_call_is_about_as_cheap_as_starting_a_process(repository: GitRepository) -> None:
    """A guard against accidents, with a bound far above the few milliseconds a call takes."""
    await repository.git.run_text("rev-parse", "HEAD")
    started = time.process_time()
    for _ in range(20):
        await repository.git.run_text("rev-parse", "HEAD")

    assert (time.process_time() - started) / 20 < 0.02

"""What the git directory of a repository names, a stranger may have written: none of it is shown to a command."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.hands.conftest import Yard
from worktrees.errors import GitError
from worktrees.repository import Repository

SECRET = "the key of an ordinary user"


@pytest.fixture
def key(yard: Yard) -> Path:
    file = yard.home / ".ssh" / "id_rsa"
    file.parent.mkdir()
    file.write_text(SECRET)
    file.chmod(0o644)  # so that modes alone do not keep it from the user that commands of root run as
    return file


def lend_from(yard: Yard, place: Path) -> None:
    (yard.repo / ".git" / "objects" / "info" / "alternates").write_text(f"{place}\n")


@pytest.mark.attack(49)
@pytest.mark.sandbox
@pytest.mark.conformance
@pytest.mark.parametrize("lends", [".ssh", ".", ".ssh/../.ssh"])
async def test_alternates_show_no_directory_of_the_host(
    yard: Yard, key: Path, shell_in: Any, outside: Callable[..., str], lends: str
) -> None:
    lend_from(yard, yard.home / lends)
    read = f"cat {key}"
    assert outside(read) == SECRET
    async with yard.hands() as hands:
        ran = await shell_in(await hands.open(yard.git("rev-parse", "HEAD"), "test"), f"{read}; git log --format=%s")
    assert SECRET not in ran.output
    assert ran.output.endswith("\nStart\n")


@pytest.mark.attack(49)
@pytest.mark.sandbox
@pytest.mark.conformance
async def test_alternates_lead_to_no_socket_of_the_host(yard: Yard, shell_in: Any, outside: Callable[..., str]) -> None:
    folder = yard.home / "run"
    folder.mkdir()
    lend_from(yard, folder)
    connect = f"cd {folder} && python3 -c \"import socket; socket.socket(1).connect('s'); print('CONNECTED')\""
    with socket.socket(socket.AF_UNIX) as listener:
        handle = os.open(folder, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{handle}/s")
        os.close(handle)
        (folder / "s").chmod(0o777)  # noqa: ASYNC240
        listener.listen()
        assert outside(connect) == "CONNECTED\n"
        async with yard.hands() as hands:
            ran = await shell_in(await hands.open(yard.git("rev-parse", "HEAD"), "test"), connect)
    assert "CONNECTED" not in ran.output


@pytest.mark.attack(49)
@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["info/exclude", "shallow"])
async def test_no_file_of_a_git_directory_is_copied_by_way_of_a_link(
    yard: Yard, key: Path, shell_in: Any, name: str
) -> None:
    commit = yard.git("rev-parse", "HEAD")
    content = f"{commit}\n"  # what git accepts in both files
    copied = replace_file(yard.repo / ".git" / name, content)
    assert Repository.open(yard.repo).read_file(name) == content.encode()
    copied.unlink()
    copied.symlink_to(replace_file(key, content))
    async with yard.hands() as hands:
        ran = await shell_in(await hands.open(commit, "test"), f"git status; cat /run/git/{name}")
    assert commit not in ran.output.splitlines()


def replace_file(file: Path, content: str) -> Path:
    """Write a file, also where another one stands; return its path."""
    file.unlink(missing_ok=True)
    file.write_text(content)
    return file


@pytest.mark.attack(49)
async def test_objects_that_are_a_link_to_another_place_are_refused(yard: Yard, tmp_path: Path) -> None:
    objects = yard.repo / ".git" / "objects"
    objects.rename(tmp_path / "elsewhere")
    objects.symlink_to(tmp_path / "elsewhere")
    assert yard.git("log", "--format=%s") == "Start"
    with pytest.raises(GitError, match="is a link that leads out of the git directory"):
        Repository.open(yard.repo).object_directories()


@pytest.mark.sandbox
async def test_a_clone_that_borrows_objects_works_as_before(yard: Yard, tmp_path: Path, shell_in: Any) -> None:
    clone = tmp_path / "src" / "clone"
    yard.git("clone", "--quiet", "--shared", str(yard.repo), str(clone))
    borrowing = Yard(clone, yard.home, yard.state)
    commit = borrowing.commit({"more": "x"})
    async with borrowing.hands() as hands:
        workspace = await hands.open(commit, "test")
        later = borrowing.commit({"later": "y"}, "Later")
        ran = await shell_in(
            workspace, f"git fsck --full; git show HEAD~1:README.md; git show --format=%s --stat {later} | head -1"
        )
    assert ran.output.splitlines()[-2:] == ["hello", "Later"]
    assert "error" not in ran.output

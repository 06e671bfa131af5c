"""Many contents at once: each is stored and read as a checkout would have it, whatever the attributes say."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.worktrees.conftest import Project
from worktrees.checkouts.pool import WorktreePool
from worktrees.git import Git
from worktrees.object_store.attribute_files import lay_out_attributes
from worktrees.object_store.clean_smudge import read_filtered_blobs, write_filtered_blobs
from worktrees.object_store.trees import list_tree, read_blob, write_blob
from worktrees.repositories.repository import GitRepository

ATTRIBUTES = """*.dos text eol=crlf
*.txt text
*.id ident
*.u16 working-tree-encoding=UTF-16LE-BOM
*.raw -text
*.lfs filter=lfs
"""
NAMES = ["a.dos", "a.txt", "sub dir/a.txt", "a.id", "a.raw", "a.lfs", "a.none", "-dash.none", "ü.txt", "quo'te\".txt"]
contents = st.dictionaries(
    st.sampled_from(NAMES),
    st.lists(st.sampled_from([b"a\n", b"b\r\n", b"$Id$\n", b"\x00\xff", b"c"]), max_size=4).map(b"".join),
)


DEEP = "*.txt text eol=crlf\n*.raw text\n"


@pytest.fixture
async def bare_git(project: Project, repository: GitRepository) -> AsyncIterator[Git]:
    """Git without the checkout, but with the attributes of its commit; the user's index and checkout differ."""
    project.commit({".gitattributes": ATTRIBUTES, "sub dir/.gitattributes": DEEP, "sub dir/a.txt": "a\n"})
    (project.root / "linked").mkdir()
    (project.root / "linked/.gitattributes").symlink_to("../sub dir/.gitattributes")
    project.commit({"linked/a.txt": "a\n"})
    entries = await list_tree(repository.git, "HEAD")
    project.write({".gitattributes": "* -text\n", "linked/.gitattributes.x": "", "extra/.gitattributes": "* text\n"})
    project.git("add", "-A")
    async with lay_out_attributes(repository.git, entries) as found:
        yield found


@pytest.fixture
def git(project: Project, repository: GitRepository) -> Git:
    project.commit({".gitattributes": ATTRIBUTES})
    project.git("config", "filter.lfs.clean", "touch ran")
    return repository.git.with_paths(work_tree=project.root)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents)
async def test_many_are_stored_and_read_as_they_would_be_one_by_one(git: Git, given: dict[str, bytes]) -> None:
    stored = await write_filtered_blobs(git, given)
    assert stored == {path: await write_blob(git, content, path) for path, content in given.items()}
    assert await read_filtered_blobs(git, stored) == {
        path: await read_blob(git, oid, path) for path, oid in stored.items()
    }


MANY = {
    "a.dos": b"a\r\nb\n",
    "sub dir/a.dos": b"a\nb\r\n",
    "a.txt": b"a\r\n",
    "sub dir/a.txt": b"a\r\nb\n",
    "linked/a.txt": b"a\r\n",
    "a.id": b"$Id: 1234 $\n",
    "a.raw": b"a\r\n",
    "sub dir/a.raw": b"a\r\n",
    "a.u16": "\ufeffü\n".encode("utf-16-le"),
    "a.lfs": b"a\r\n",
    "extra/a.none": b"a\r\n",
    "new/a.none": b"\x00\xff\r\n",
}


async def test_the_attribute_files_of_a_commit_are_all_that_is_needed_of_its_checkout(
    bare_git: Git, pool: WorktreePool, project: Project
) -> None:
    project.git("config", "filter.lfs.clean", "touch ran")
    project.git("config", "filter.lfs.smudge", "touch ran")
    worktree = await pool.lease_worktree(project.git("rev-parse", "HEAD"))
    without = replace(bare_git, overrides=worktree.git.overrides)
    wanted = await write_filtered_blobs(worktree.git, MANY)
    stored = await write_filtered_blobs(without, MANY)
    assert stored == wanted
    assert await read_blob(without, stored["sub dir/a.txt"]) == b"a\nb\n"
    assert await read_filtered_blobs(without, stored) == await read_filtered_blobs(worktree.git, stored)
    assert (await read_filtered_blobs(without, stored))["a.dos"] == b"a\r\nb\r\n"
    assert not list(project.root.rglob("ran"))
    assert "Id: " in (await read_filtered_blobs(without, stored))["a.id"].decode()


async def test_neither_the_users_index_nor_links_say_anything_of_a_commit(bare_git: Git) -> None:
    given = {"linked/b.txt": b"a\n", "extra/b.none": b"a\r\n"}
    stored = await write_filtered_blobs(bare_git, given)
    assert await read_filtered_blobs(bare_git, stored) == given


async def test_an_encoding_of_the_work_tree_is_kept(git: Git) -> None:
    text = "\ufeffsome text\n".encode("utf-16-le")
    stored = await write_filtered_blobs(git, {"a.u16": text, "b.txt": b"x\n"})
    assert await read_blob(git, stored["a.u16"]) == b"some text\n"
    assert (await read_filtered_blobs(git, stored))["a.u16"] == text


async def test_without_a_work_tree_every_byte_is_kept(repository: GitRepository, tmp_path: Path) -> None:
    given = {"a.dos": b"a\r\nb\n", "b.dos": b""}
    stored = await write_filtered_blobs(repository.git, given)
    assert {path: await read_blob(repository.git, oid) for path, oid in stored.items()} == given
    assert await write_filtered_blobs(repository.git, {}) == {}

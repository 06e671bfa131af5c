"""Many contents at once: each is stored and read as a checkout would have it, whatever the attributes say."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.worktrees.conftest import Project
from worktrees.git import Git
from worktrees.object_store.clean_smudge import read_filtered_blobs, write_filtered_blobs
from worktrees.object_store.trees import read_blob, write_blob
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

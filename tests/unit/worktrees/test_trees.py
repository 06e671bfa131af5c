"""Trees and blobs without a worktree; replacing files agrees with what git's own index makes of it."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.worktrees.conftest import FILES, Project
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.object_ids import ImmutableCache
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import (
    TreeEntry,
    list_tree,
    read_blob,
    read_blobs,
    read_tree_id,
    write_blob,
    write_empty_tree,
)
from worktrees.repositories.repository import GitRepository


@pytest.fixture
def git(repository: GitRepository) -> Git:
    return repository.git


async def test_a_tree_is_listed_with_modes_ids_and_sizes(project: Project, git: Git) -> None:
    (project.root / "link").symlink_to("README.md")
    (project.root / "src" / "app.py").chmod(0o755)
    project.commit({"näme\n\t": "x", "empty": ""})
    head = project.git("rev-parse", "HEAD")
    tree = await overlay_tree(git, await read_tree_id(git, head), {"sub": ("160000", head)})

    listed = {entry.path: entry for entry in await list_tree(git, tree)}

    assert sorted(listed) == sorted([*FILES, "link", "näme\n\t", "empty", "sub"])
    assert listed["src/app.py"] == TreeEntry(
        "src/app.py", "100755", "blob", project.git("rev-parse", "HEAD:src/app.py"), len(FILES["src/app.py"])
    )
    assert (listed["link"].mode, listed["link"].size) == ("120000", 9)
    assert (listed["empty"].size, listed["sub"].size, listed["sub"].kind) == (0, None, "commit")


async def test_a_listing_can_be_limited_to_paths(git: Git) -> None:
    paths = [entry.path for entry in await list_tree(git, "HEAD", ["src/deep", "README.md", "*.py", "none"])]

    assert paths == ["README.md", "src/deep/er/mod.py"]


async def test_with_a_path_blobs_are_written_and_read_as_a_checkout_has_them(project: Project, git: Git) -> None:
    project.commit({".gitattributes": "*.txt text eol=crlf\nsub/*.txt -text\n"})
    inside = git.with_paths(work_tree=project.root)
    raw, stored = await write_blob(git, b"a\r\nb\r\n"), await write_blob(inside, b"a\r\nb\r\n", "x.txt")

    assert await read_blobs(git, [stored]) == {stored: b"a\nb\n"}
    assert await read_blob(inside, stored, "x.txt") == b"a\r\nb\r\n"
    assert await read_blob(inside, stored) == await read_blob(inside, stored, "x.py") == b"a\nb\n"
    assert await write_blob(inside, b"a\r\nb\r\n", "sub/x.txt") == raw


async def test_no_filter_runs_for_a_blob_with_a_path(project: Project, tmp_path: Path) -> None:
    project.git("config", "filter.evil.clean", f"touch {tmp_path}/ran; cat")
    project.git("config", "filter.evil.smudge", f"touch {tmp_path}/ran; cat")
    project.git("config", "filter.evil.required", "true")
    (project.root / ".gitattributes").write_text("* filter=evil\n")
    inside = GitRepository.open(project.root).git.with_paths(work_tree=project.root)

    assert await read_blob(inside, await write_blob(inside, b"x", "x.txt"), "x.txt") == b"x"
    assert not (tmp_path / "ran").exists()


async def test_blobs_are_written_and_read_byte_for_byte(git: Git) -> None:
    contents = [b"", b"\n", b"a\r\nb", bytes(range(256)) * 300, b"missing\n", b"x" * 2_000_000]
    oids = [await write_blob(git, content) for content in contents]

    assert await read_blobs(git, [*oids, oids[0]]) == dict(zip(oids, contents, strict=True))
    assert await read_blob(git, oids[3]) == contents[3]
    assert await read_blob(git, "HEAD:README.md") == b"hello\n"
    assert await read_blobs(git, []) == {}


@pytest.mark.parametrize("oid", ["0" * 39 + "1", "HEAD", "HEAD:src", "no such name\n"])
async def test_what_is_no_blob_is_refused(git: Git, oid: str) -> None:
    with pytest.raises(GitError):
        await read_blobs(git, [oid])
    with pytest.raises(GitError):
        await read_blob(git, oid)


async def test_the_tree_of_a_commit_is_told_and_of_nothing_else(project: Project, git: Git) -> None:
    assert await read_tree_id(git, "HEAD") == project.tree()
    for name in ("nonsense", "--help", "HEAD:README.md"):
        with pytest.raises(GitError):
            await read_tree_id(git, name)


async def test_the_empty_tree_holds_nothing(git: Git) -> None:
    assert await list_tree(git, await write_empty_tree(git)) == ()


class TestOverlay:
    """Files replaced in a tree."""

    @pytest.fixture
    async def blob(self, git: Git) -> tuple[str, str]:
        return ("100644", await write_blob(git, b"new\n"))

    async def files(self, git: Git, changes: Mapping[str, tuple[str, str] | None]) -> list[str]:
        base = await read_tree_id(git, "HEAD")
        return sorted(entry.path for entry in await list_tree(git, await overlay_tree(git, base, changes)))

    async def test_nothing_to_change_gives_the_same_tree(self, git: Git) -> None:
        base = await read_tree_id(git, "HEAD")

        assert await overlay_tree(git, base, {}) == base
        assert (
            await overlay_tree(git, base, {"none": None, "no/dir/none": None, "src": None, "README.md/x": None}) == base
        )

    async def test_files_are_replaced_added_and_deleted(
        self, git: Git, blob: tuple[str, str], project: Project
    ) -> None:
        base = await read_tree_id(git, "HEAD")

        tree = await overlay_tree(
            git, base, {"src/app.py": ("100755", blob[1]), "a/new/one": blob, "tests/test_app.py": None}
        )

        assert project.git("diff-tree", "-r", "--name-status", base, tree).split() == [
            *("A", "a/new/one", "M", "src/app.py", "D", "tests/test_app.py"),
        ]
        assert project.git("ls-tree", tree, "src/app.py").startswith("100755")
        assert project.git("fsck", "--no-dangling") == ""

    async def test_a_file_takes_the_place_of_a_directory(self, git: Git, blob: tuple[str, str]) -> None:
        assert await self.files(git, {"src": blob}) == [".gitignore", "README.md", "src", "tests/test_app.py"]
        assert "src" in await self.files(git, {"src": blob, "src/app.py": None, "src/deep/er/mod.py": None})

    async def test_a_directory_takes_the_place_of_a_file(self, git: Git, blob: tuple[str, str]) -> None:
        expected = sorted([*(path for path in FILES if path != "README.md"), "README.md/a/b"])

        assert await self.files(git, {"README.md/a/b": blob}) == expected
        assert await self.files(git, {"README.md": None, "README.md/a/b": blob}) == expected

    async def test_directories_that_become_empty_vanish(self, git: Git) -> None:
        assert await self.files(git, {"src/deep/er/mod.py": None, "src/app.py": None}) == [
            *(".gitignore", "README.md", "tests/test_app.py"),
        ]
        assert await self.files(git, dict.fromkeys(FILES)) == []

    @pytest.mark.parametrize("path", ["", "/x", "../x", "a/../b", ".git/config", "src/.GIT/x", "a//b", "src/"])
    async def test_paths_that_cannot_be_in_a_tree_are_refused(self, git: Git, blob: tuple[str, str], path: str) -> None:
        with pytest.raises(GitError, match="cannot be put into a tree"):
            await self.files(git, {path: blob})

    async def test_contradictions_wrong_modes_and_missing_objects_are_refused(
        self, git: Git, blob: tuple[str, str]
    ) -> None:
        with pytest.raises(GitError, match="'a' cannot be a file and hold 'a/b' at once"):
            await self.files(git, {"a": blob, "a/b": blob})
        with pytest.raises(GitError, match="with mode '040000'"):
            await self.files(git, {"a": ("040000", blob[1])})
        with pytest.raises(GitError, match="mktree"):
            await self.files(git, {"a": ("100644", "0" * 39 + "1")})
        with pytest.raises(GitError, match="is no tree"):
            await overlay_tree(git, "0" * 39 + "1", {"a": blob})

    async def test_a_repository_with_sha256_works_as_well(self, tmp_path: Path) -> None:
        project = Project(tmp_path)
        project.git("init", "-q", "--object-format=sha256")
        project.commit(FILES)
        git = GitRepository.open(tmp_path).git

        tree = await overlay_tree(
            git, await read_tree_id(git, "HEAD"), {"src/app.py": ("100644", await write_blob(git, b"x"))}
        )

        assert len(tree) == 64
        assert project.show(f"{tree}:src/app.py") == b"x"
        assert project.files(tree) == sorted(FILES)


NAMES = st.sampled_from(["a", "b", "a.b", "a-b", "a b", "\udce9", "B"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


def without_contradictions(paths: dict[str, bool]) -> dict[str, bool]:
    files = {path for path, is_file in paths.items() if is_file}
    inside = {path for path in files if any(path.startswith(f"{other}/") for other in files)}
    return {path: is_file for path, is_file in paths.items() if path not in inside}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    base=st.dictionaries(PATHS, st.just(True), max_size=6).map(without_contradictions),
    changes=st.dictionaries(PATHS, st.booleans(), max_size=6).map(without_contradictions),
)
async def test_overlays_equal_what_git_makes_of_the_same_changes_in_an_index(
    project: Project, git: Git, base: dict[str, bool], changes: dict[str, bool]
) -> None:
    old, new = [await write_blob(git, content) for content in (b"old", b"new")]
    base_tree = await overlay_tree(git, await write_empty_tree(git), dict.fromkeys(base, ("100644", old)))
    assert sorted(project.files(base_tree)) == sorted(base)

    tree = await overlay_tree(git, base_tree, {path: ("100644", new) if put else None for path, put in changes.items()})

    assert tree == through_an_index(project, base_tree, new, changes)


def through_an_index(project: Project, base_tree: str, blob: str, changes: Mapping[str, bool]) -> str:
    environment = {**os.environ, "GIT_INDEX_FILE": str(project.root / ".git" / "other-index")}

    def git(*args: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *args], cwd=project.root, env=environment, input=stdin, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def lines(wanted: bool) -> bytes:
        form = f"100644 {blob}\t" if wanted else f"0 {'0' * 40}\t"
        return b"".join(form.encode() + os.fsencode(path) + b"\0" for path, put in changes.items() if put == wanted)

    git("read-tree", base_tree)
    for wanted in (False, True):
        git("update-index", "-z", "--index-info", stdin=lines(wanted))
    return git("write-tree")


async def test_the_tree_of_a_commit_is_asked_for_once_and_that_of_a_branch_every_time(
    project: Project, git: Git
) -> None:
    commit, tree = project.git("rev-parse", "HEAD"), project.git("rev-parse", "HEAD^{tree}")
    assert [await read_tree_id(git, name) for name in (commit, "refs/heads/main")] == [tree, tree]
    project.write({"more": "x"})
    project.git("add", ".")
    project.git("commit", "-qm", "more")
    assert await read_tree_id(git, "refs/heads/main") == project.git("rev-parse", "HEAD^{tree}") != tree
    (git.git_dir / "objects").rename(git.git_dir / "gone")
    assert await read_tree_id(git, commit) == tree
    with pytest.raises(GitError):
        await read_tree_id(git, "refs/heads/main")


def test_of_answers_only_the_latest_are_kept() -> None:
    kept: ImmutableCache[int, str] = ImmutableCache(2)
    for key in (1, 2):
        kept.store_value(key, str(key))
    assert kept.get_value(1) == "1"
    kept.store_value(3, "3")
    assert [kept.get_value(key) for key in (1, 2, 3)] == ["1", None, "3"]


def test_answers_are_kept_as_long_as_their_sizes_together_have_room() -> None:
    kept: ImmutableCache[int, str] = ImmutableCache(10)
    for key, size in ((1, 4), (2, 4), (1, 5), (3, 5), (4, 11)):
        assert kept.store_value(key, str(key), size) == str(key)
    assert [kept.get_value(key) for key in (1, 2, 3, 4)] == ["1", None, "3", None]


async def test_a_commit_is_listed_once_and_again_where_git_could_not_read_a_file(project: Project, git: Git) -> None:
    project.commit({"fresh": "a fresh file\n"})
    commit, blob = project.git("rev-parse", "HEAD"), project.git("rev-parse", "HEAD:fresh")
    loose = git.git_dir / "objects" / blob[:2] / blob[2:]
    loose.rename(git.git_dir / "kept-aside")
    assert [entry.size for entry in await list_tree(git, commit) if entry.path == "fresh"] == [None]
    (git.git_dir / "kept-aside").rename(loose)
    listed = await list_tree(git, commit)
    assert {entry.path: entry.size for entry in listed}["fresh"] == 13
    (git.git_dir / "objects").rename(git.git_dir / "gone")
    assert await list_tree(git, commit) == listed

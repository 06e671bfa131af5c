"""A worktree's content as a commit: complete, byte for byte, and the same whenever it is taken again."""

import os
import time
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.worktrees.conftest import FILES, Project
from worktrees.checkouts import tree_checkout
from worktrees.checkouts.pool import WorktreePool
from worktrees.checkouts.worktree import Worktree
from worktrees.errors import GitError, SnapshotTooLarge
from worktrees.object_store.merge import EPOCH_DATE
from worktrees.snapshots.screening import SnapshotLimits
from worktrees.snapshots.snapshot import WorktreeSnapshot, snapshot_worktree

needs_user = pytest.mark.skipif(os.geteuid() == 0, reason="root can read every file")


async def test_changes_of_every_kind_are_in_it(worktree: Worktree, project: Project) -> None:
    place = Project(worktree.root)
    (worktree.root / "README.md").unlink()
    (worktree.root / "src" / "app.py").chmod(0o755)
    (worktree.root / "tests" / "test_app.py").rename(worktree.root / "tests" / "moved.py")
    (worktree.root / "link").symlink_to("src/app.py")
    place.write(
        {
            "src/deep/er/mod.py": "x = 2\n",
            "crlf.txt": b"a\r\nb\r\n",
            "no-newline": b"end",
            "empty": b"",
            "binary": bytes(range(256)),
            "new/dir/file": "x",
            "noise.log": "ignored",
            "build/out": "ignored",
        }
    )
    (worktree.root / "empty-dir").mkdir()

    taken = await snapshot_worktree(worktree, "work", "refs/orchestrate/run/t1/1")

    assert taken.dropped == ()
    listing = {line.split("\t")[1]: line[:6] for line in project.git("ls-tree", "-r", taken.tree).splitlines()}
    assert listing == {
        ".gitignore": "100644",
        "binary": "100644",
        "crlf.txt": "100644",
        "empty": "100644",
        "link": "120000",
        "new/dir/file": "100644",
        "no-newline": "100644",
        "src/app.py": "100755",
        "src/deep/er/mod.py": "100644",
        "tests/moved.py": "100644",
    }
    for path in ("binary", "crlf.txt", "empty", "no-newline", "src/deep/er/mod.py"):
        assert project.show(f"{taken.tree}:{path}") == (worktree.root / path).read_bytes()
    assert project.show(f"{taken.tree}:link") == b"src/app.py"


async def test_the_commit_says_who_when_and_on_top_of_what(worktree: Worktree, project: Project) -> None:
    (worktree.root / "new").write_text("x")

    taken = await snapshot_worktree(worktree, "Subject\n\nBody", "refs/orchestrate/x", when="2026-01-02T03:04:05+02:00")

    who = "Orchestrate <orchestrate@localhost> 1767315845 +0200"
    assert project.git("cat-file", "commit", taken.commit).splitlines() == [
        f"tree {taken.tree}",
        f"parent {worktree.commit}",
        f"author {who}",
        f"committer {who}",
        "",
        "Subject",
        "",
        "Body",
    ]
    assert project.git("rev-parse", "refs/orchestrate/x") == taken.commit


async def test_the_same_content_gives_the_same_commit(worktree: Worktree, pool: WorktreePool) -> None:
    (worktree.root / "new").write_text("x")
    first = await snapshot_worktree(worktree, "work", "refs/orchestrate/a")
    second = await snapshot_worktree(worktree, "work", "refs/orchestrate/a")
    await pool.release_worktree(worktree)
    again = await pool.lease_worktree(worktree.commit)
    (again.root / "new").write_text("x")

    assert first == second == await snapshot_worktree(again, "work", None)


async def test_without_changes_there_is_still_a_commit_with_the_parents_tree(
    worktree: Worktree, project: Project
) -> None:
    taken = await snapshot_worktree(worktree, "nothing", None)

    assert taken.tree == project.tree(worktree.commit)
    assert project.git("rev-parse", f"{taken.commit}^") == worktree.commit


async def test_another_parent_can_be_named(worktree: Worktree, project: Project) -> None:
    newer = project.commit({"README.md": "newer\n"})

    taken = await snapshot_worktree(worktree, "on top", None, parent=newer)

    assert project.git("rev-parse", f"{taken.commit}^") == newer
    assert taken.tree == project.tree(worktree.commit)


async def test_a_snapshot_changes_nothing_in_the_worktree_or_its_index(worktree: Worktree, project: Project) -> None:
    Project(worktree.root).write({"src/app.py": "work\n", "new": "x"})
    before = ((worktree.admin / "index").read_bytes(), Project(worktree.root).git("status", "--porcelain"))
    users = project.fingerprint()

    await snapshot_worktree(worktree, "work", "refs/orchestrate/x")

    assert ((worktree.admin / "index").read_bytes(), Project(worktree.root).git("status", "--porcelain")) == before
    assert project.fingerprint() == users
    assert [file.name for file in worktree.admin.glob("orchestrate-index-*")] == []


async def test_a_file_becomes_a_directory_and_a_directory_a_file(worktree: Worktree, project: Project) -> None:
    (worktree.root / "README.md").unlink()
    Project(worktree.root).write({"README.md/part": "x"})
    for path in ("tests/test_app.py",):
        (worktree.root / path).unlink()
    (worktree.root / "tests").rmdir()
    (worktree.root / "tests").write_text("a file\n")

    taken = await snapshot_worktree(worktree, "work", None)

    assert set(project.files(taken.tree)) == {
        *(".gitignore", "README.md/part", "src/app.py", "src/deep/er/mod.py", "tests"),
    }


async def test_what_somebody_staged_in_the_worktrees_own_index_makes_no_difference(
    worktree: Worktree, project: Project
) -> None:
    place = Project(worktree.root)
    place.write({"src/app.py": "staged\n", "new": "staged\n", "noise.log": "forced\n"})
    place.git("add", "-f", "-A", ".")
    place.git("rm", "-q", "--cached", "README.md")
    place.write({"src/app.py": "final\n"})
    (worktree.root / "new").unlink()

    taken = await snapshot_worktree(worktree, "work", None)

    assert project.files(taken.tree) == sorted(FILES)
    assert project.show(f"{taken.tree}:src/app.py") == b"final\n"


async def test_a_change_within_the_second_of_the_lease_is_seen_later(pool: WorktreePool, project: Project) -> None:
    """Git compares times in whole seconds: content of the same length must be compared itself."""
    if time.time() % 1 > 0.6:
        await anyio.sleep(1 - time.time() % 1)
    worktree = await pool.lease_worktree(project.git("rev-parse", "HEAD"))
    text = FILES["src/app.py"].swapcase()
    (worktree.root / "src" / "app.py").write_text(text)
    await anyio.sleep(1 - time.time() % 1)

    taken = await snapshot_worktree(worktree, "work", None)

    assert project.show(f"{taken.tree}:src/app.py") == text.encode()


async def test_compiled_python_is_left_out_unless_the_project_has_it(pool: WorktreePool, project: Project) -> None:
    worktree = await pool.lease_worktree(project.commit({"vendored.pyc": b"old", "lib/__pycache__/x.pyc": b"old"}))
    Project(worktree.root).write(
        {
            "vendored.pyc": b"new",
            "lib/__pycache__/x.pyc": b"new",
            "src/__pycache__/app.cpython-311.pyc": b"x",
            "src/__pycache__/b.cpython-311.pyc": b"x",
            "stray.pyc": b"x",
        }
    )

    taken = await snapshot_worktree(worktree, "work", None)

    assert taken.dropped == (
        "src/__pycache__: caches and compiled Python are not committed",
        "stray.pyc: caches and compiled Python are not committed",
    )
    assert project.show(f"{taken.tree}:vendored.pyc") == b"new"
    assert project.show(f"{taken.tree}:lib/__pycache__/x.pyc") == b"new"


async def test_a_link_that_the_project_already_had_is_kept_even_if_it_leads_out(
    pool: WorktreePool, project: Project, tmp_path: Path
) -> None:
    (project.root / "outside").symlink_to("/etc/hosts")
    worktree = await pool.lease_worktree(project.commit({}))
    (worktree.root / "outside").unlink()
    (worktree.root / "outside").symlink_to("/etc/hosts")

    same = await snapshot_worktree(worktree, "same", None)
    (worktree.root / "outside").unlink()
    (worktree.root / "outside").symlink_to(tmp_path)
    other = await snapshot_worktree(worktree, "other", None)

    assert same.tree == other.tree == project.tree()
    assert other.dropped == ("outside: it is a link to an absolute path",)


@pytest.mark.attack(18)
async def test_files_over_the_limit_are_left_out_without_being_read(worktree: Worktree, project: Project) -> None:
    with (worktree.root / "sparse").open("wb") as sparse:
        sparse.truncate(1024**4)
    with (worktree.root / "src" / "app.py").open("wb") as sparse:
        sparse.truncate(1024**4)
    (worktree.root / "fine").write_bytes(b"x" * 1000)
    (worktree.root / "over").write_bytes(b"x" * (1024**2 + 1))

    taken = await snapshot_worktree(worktree, "work", None, limits=SnapshotLimits(file_bytes=1024**2))

    reason = "it is larger than 1 MiB"
    assert taken.dropped == tuple(f"{path}: {reason}" for path in ("over", "sparse", "src/app.py"))
    assert project.files(taken.tree) == sorted([*FILES, "fine"])
    assert project.show(f"{taken.tree}:src/app.py") == FILES["src/app.py"].encode()


@pytest.mark.attack(18)
async def test_a_file_that_takes_for_ever_to_compare_hangs_nothing(
    pool: WorktreePool, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git keeps sizes in 32 bits: to it an empty file and one of 1 TiB are of the same size, so it reads on and on."""
    monkeypatch.setattr(tree_checkout, "_LOOK_TIMEOUT_S", 0.15)
    monkeypatch.setattr(tree_checkout, "_READ_TIMEOUT_S", 0.15)
    base, other = project.commit({"src/__init__.py": ""}), project.commit({"README.md": "other\n"})
    await anyio.sleep(1 - time.time() % 1)  # git compares whole seconds: only within one does it have to read the file
    worktree = await pool.lease_worktree(base)

    def spoil() -> Path:
        with (worktree.root / "src" / "__init__.py").open("wb") as sparse:
            sparse.truncate(1024**4)
        return worktree.root / "src" / "__init__.py"

    spoilt = spoil()
    with pytest.raises(GitError, match="is there a huge file"):
        await snapshot_worktree(worktree, "work", None)
    for tree in (project.tree(base), project.tree(other)):
        spoil()
        await worktree.restore_tree(tree)
        assert spoilt.stat().st_size == 0
    spoil()
    await pool.release_worktree(worktree)
    assert (await pool.lease_worktree(other)).name == worktree.name
    assert spoilt.stat().st_size == 0


@pytest.mark.attack(18)
async def test_too_many_changed_files_are_an_error_of_their_own(worktree: Worktree) -> None:
    for number in range(11):
        (worktree.root / f"new-{number}").touch()

    with pytest.raises(SnapshotTooLarge, match="has 11 changed files, of which a snapshot may have 10"):
        await snapshot_worktree(worktree, "work", None, limits=SnapshotLimits(files=10))


async def test_a_file_that_git_refuses_is_left_out_and_the_others_are_not(worktree: Worktree, project: Project) -> None:
    Project(worktree.root).write(
        {
            ".gitattributes": "odd.txt working-tree-encoding=no-such-encoding\n",
            "odd.txt": "x",
            **{f"fine-{number}": "x" for number in range(10)},
        }
    )

    taken = await snapshot_worktree(worktree, "work", None)

    assert [line.split(":")[0] for line in taken.dropped] == ["odd.txt"]
    assert "git refuses it" in taken.dropped[0]
    assert len(project.files(taken.tree)) == len(FILES) + 11


@needs_user
async def test_an_unreadable_file_is_left_out_by_name(worktree: Worktree) -> None:
    (worktree.root / "secret").write_text("x")
    (worktree.root / "secret").chmod(0)

    assert [line.split(":")[0] for line in (await snapshot_worktree(worktree, "work", None)).dropped] == ["secret"]


async def test_a_ref_outside_refs_and_a_date_that_is_none_are_refused(worktree: Worktree) -> None:
    with pytest.raises(GitError, match="no full ref name"):
        await snapshot_worktree(worktree, "work", "HEAD")
    with pytest.raises(GitError, match="no ISO 8601 date"):
        await snapshot_worktree(worktree, "work", None, when="yesterday")


NAMES = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=20)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.dictionaries(NAMES, st.binary(max_size=200), min_size=1, max_size=6))
async def test_any_content_under_any_name_survives_or_is_named(
    worktree: Worktree, project: Project, files: dict[str, bytes]
) -> None:
    await worktree.restore_tree(project.tree())
    wanted = {f"n {name.replace('/', '-')}": data for name, data in files.items()}
    for path, data in wanted.items():
        (worktree.root / path).write_bytes(data)

    taken: WorktreeSnapshot = await snapshot_worktree(worktree, "work", None, when=EPOCH_DATE)

    kept = set(project.files(taken.tree)) - set(FILES)
    assert len(kept) + len(taken.dropped) == len(wanted)
    assert all(project.show(f"{taken.tree}:{path}") == wanted[path] for path in kept)

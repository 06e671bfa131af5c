"""The snapshot gate: what plain git commits of a hostile worktree without a word, and what ours takes of it."""

import os
import shutil
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.unit.worktrees.conftest import EXPECTED, FILES, Project, content
from worktrees.checkouts import tree_checkout
from worktrees.checkouts.pool import WorktreePool
from worktrees.checkouts.worktree import Worktree
from worktrees.errors import GitError, SnapshotTooLarge
from worktrees.safety.named_pipes import remove_pipes
from worktrees.safety.removal import remove_below
from worktrees.snapshots.screening import SnapshotLimits
from worktrees.snapshots.snapshot import snapshot_worktree


def as_git_takes_it(worktree: Worktree, tmp_path: Path) -> set[str]:
    """The paths that plain git commits of the same files, in a repository of their own: the positive control."""
    copy = Project(tmp_path / "naive")
    shutil.copytree(worktree.root, copy.root, symlinks=True)
    (copy.root / ".git").unlink()
    copy.git("init", "-q")
    copy.git("-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "add", "-A")
    copy.git("commit", "-q", "-m", "everything")
    return set(copy.files())


def plain_git(place: Path, *words: str, timeout: float = 20) -> str:
    done = subprocess.run(["git", "-C", str(place), *words], timeout=timeout, check=False, capture_output=True)
    return done.stdout.decode(errors="replace")


def reasons(lines: tuple[str, ...]) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in lines)


@pytest.mark.attack(18)
async def test_a_file_of_a_tebibyte_a_bomb_and_too_much_in_all_are_rejected(
    worktree: Worktree, project: Project, tmp_path: Path
) -> None:
    with (worktree.root / "sparse").open("wb") as sparse:
        sparse.truncate(1024**4)
    with zipfile.ZipFile(worktree.root / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("zeros", bytes(20_000_000))
    limits = SnapshotLimits(file_bytes=1024**2, total_bytes=1024**2)

    taken = await snapshot_worktree(worktree, "work", None, limits=limits)

    assert reasons(taken.dropped) == {"sparse": "it is larger than 1 MiB"}
    packed = (worktree.root / "bomb.zip").stat().st_size
    assert len(project.show(f"{taken.tree}:bomb.zip")) == packed < 30_000  # it is bytes, and nobody unpacks it
    for number in range(3):
        (worktree.root / f"part-{number}").write_bytes(os.urandom(400_000))
    with pytest.raises(SnapshotTooLarge, match=r"has 1\.2 MiB in changed files, of which a snapshot may have 1:"):
        await snapshot_worktree(worktree, "work", None, limits=limits)
    (worktree.root / "sparse").unlink()
    assert {"part-0", "part-1", "part-2"} <= as_git_takes_it(worktree, tmp_path)


@pytest.mark.attack(18)
async def test_an_ignore_file_of_gigabytes_costs_no_memory_and_is_the_attempts_fault(worktree: Worktree) -> None:
    with (worktree.root / "src" / ".gitignore").open("wb") as sparse:
        sparse.truncate(1900 * 1024**2)

    with pytest.raises(SnapshotTooLarge, match=r"the ignore files in .* are too large to be read"):
        await snapshot_worktree(worktree, "work", None)


@pytest.mark.attack(19)
@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", "src/.gitignore", "src/.gitattributes"])
async def test_a_pipe_that_git_would_read_settings_from_hangs_nothing(
    worktree: Worktree, project: Project, name: str
) -> None:
    (worktree.root / name).unlink(missing_ok=True)
    os.mkfifo(worktree.root / name)
    (worktree.root / name).chmod(0o444)
    (worktree.root / "src" / "new.py").write_text("x")
    with pytest.raises(subprocess.TimeoutExpired):
        plain_git(worktree.root, "add", "--dry-run", "-A", timeout=0.3)

    taken = await snapshot_worktree(worktree, "work", None)

    assert "src/new.py" in project.files(taken.tree)


def file_below(root: Path, levels: int, name: str) -> str:
    """A file under so many directories, made step by step; gives its path, which may be longer than paths may be."""
    words = ("import os, sys", "os.chdir(sys.argv[1])", f"for _ in range({levels}): os.mkdir('d'); os.chdir('d')")
    subprocess.run([sys.executable, "-c", "\n".join((*words, name)), str(root)], check=True)
    return "d/" * levels


@pytest.mark.attack(18)
async def test_what_lies_too_deep_to_be_gone_through_is_left_out(
    worktree: Worktree, pool: WorktreePool, project: Project, tmp_path: Path
) -> None:
    place = file_below(worktree.root, 1_200, "open('new', 'w').write('x')")
    plain_git(worktree.root, "init", "-q", str(tmp_path / "naive"))
    plain_git(tmp_path / "naive", f"--work-tree={worktree.root}", "add", "-A")
    assert f"{place}new" in plain_git(tmp_path / "naive", "ls-files")  # and a checkout of it would break later

    taken = await snapshot_worktree(worktree, "work", None)

    (told,) = taken.dropped
    assert told == f"{place[:500]}…{f'{place}new'[-500:]}: it lies more than 200 directories deep"
    assert content((await pool.lease_worktree(taken.commit)).root) == EXPECTED
    remove_below(worktree.root, ["d"])  # which the removal of temporary directories could not


@pytest.mark.extended
@pytest.mark.attack(19)
async def test_a_pipe_is_found_however_deep_the_directories_beside_it(worktree: Worktree) -> None:
    file_below(worktree.root, 3_000, "")
    os.mkfifo(worktree.root / "d" / ".gitattributes")
    remove_pipes(worktree.root)
    assert not (worktree.root / "d" / ".gitattributes").exists()
    remove_below(worktree.root, ["d"])


@pytest.mark.attack(18)
async def test_of_what_is_left_out_without_end_a_part_is_named_and_the_rest_counted(worktree: Worktree) -> None:
    for number in range(1_200):
        (worktree.root / f"\x01{number}").touch()
    taken = await snapshot_worktree(worktree, "work", None)
    assert len(taken.dropped) == 1_001
    assert taken.dropped[-1] == "and 200 more"


@pytest.mark.attack(18)
async def test_ignore_rules_that_take_for_ever_are_the_attempts_fault(
    worktree: Worktree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_checkout, "_LIST_TIMEOUT_S", 0.4)
    (worktree.root / Path(*["a"] * 60)).mkdir(parents=True)
    (worktree.root / Path(*["a"] * 60) / "new").write_text("x")
    (worktree.root / ".gitignore").write_text("**/a/" * 20 + "b\n")
    with pytest.raises(subprocess.TimeoutExpired):
        plain_git(worktree.root, "ls-files", "--others", "--exclude-standard", timeout=0.4)

    with pytest.raises(SnapshotTooLarge, match="ignore rules"):
        await snapshot_worktree(worktree, "work", None)
    (worktree.root / ".gitignore").unlink()
    with pytest.raises(GitError, match="a glob of many"):
        await worktree.list_paths("**/a/" * 20 + "b")


@pytest.mark.attack(29)
async def test_where_submodules_come_from_cannot_be_changed(
    pool: WorktreePool, project: Project, tmp_path: Path
) -> None:
    listed = '[submodule "lib"]\n\tpath = lib\n\turl = ../lib\n'
    worktree = await pool.lease_worktree(project.commit({".gitmodules": listed}))
    (worktree.root / ".gitmodules").write_text(listed.replace("../lib", "ext::sh -c 'touch /tmp/x'"))
    (worktree.root / "deep").mkdir()
    (worktree.root / "deep" / ".GITMODULES").write_text(listed)
    assert "deep/.GITMODULES" in as_git_takes_it(worktree, tmp_path)

    changed = await snapshot_worktree(worktree, "changed", None)
    (worktree.root / ".gitmodules").unlink()
    removed = await snapshot_worktree(worktree, "removed", None)
    (worktree.root / ".gitmodules").mkdir()
    (worktree.root / ".gitmodules" / "file").write_text("x")
    replaced = await snapshot_worktree(worktree, "replaced", None)

    assert {project.show(f"{taken.tree}:.gitmodules") for taken in (changed, removed, replaced)} == {listed.encode()}
    reason = "where submodules come from cannot be changed"
    assert reasons(changed.dropped) == dict.fromkeys([".gitmodules", "deep/.GITMODULES"], reason)
    assert reasons(removed.dropped) == reasons(changed.dropped)


@pytest.mark.attack(31)
async def test_names_that_cannot_be_seen_or_turn_text_around_are_left_out(
    worktree: Worktree, project: Project, tmp_path: Path
) -> None:
    names = ["exe\u202etxt.py", "a\u200bb", "tag\U000e0041", "\u3164", "line\u2028", "\u2066x", "soft\u00adhyphen"]
    for name in (*names, "caf\u00e9 \u65e5\u672c"):
        (worktree.root / name).write_text("x")

    taken = await snapshot_worktree(worktree, "work", None)

    assert sorted(set(project.files(taken.tree)) - set(FILES)) == ["caf\u00e9 \u65e5\u672c"]
    assert len(taken.dropped) == len(names)
    assert all(line.isprintable() and line.encode() for line in taken.dropped)
    assert set(names) <= as_git_takes_it(worktree, tmp_path)


@pytest.mark.attack(36)
async def test_caches_that_would_run_in_place_of_their_sources_are_left_out(
    worktree: Worktree, project: Project, tmp_path: Path
) -> None:
    caches = [
        "src/__pycache__/app.cpython-311.pyc",
        "loose.pyc",
        "old.pyo",
        ".pytest_cache/v/cache/lastfailed",
        "src/.mypy_cache/3.11/x.json",
        ".hypothesis/examples/x",
        ".tox/py/bin/python",
    ]
    Project(worktree.root).write(dict.fromkeys(caches, b"x"))

    taken = await snapshot_worktree(worktree, "work", None)

    assert project.files(taken.tree) == sorted(FILES)
    left_out = {"src/__pycache__", "loose.pyc", "old.pyo", ".pytest_cache", "src/.mypy_cache", ".hypothesis", ".tox"}
    assert set(reasons(taken.dropped)) == left_out
    assert set(caches) <= as_git_takes_it(worktree, tmp_path)


@pytest.mark.attack(36)
async def test_files_that_run_unasked_or_shadow_others_are_taken_and_named(
    pool: WorktreePool, project: Project
) -> None:
    worktree = await pool.lease_worktree(project.commit({"tests/conftest.py": "", "Makefile": "all:\n"}))
    flagged = [
        "sitecustomize.py",
        "src/usercustomize.py",
        "x.pth",
        "conftest.py",
        "lib/fast.SO",
        "makefile",
        "SRC/own.py",
    ]
    Project(worktree.root).write({**dict.fromkeys(flagged, b"x"), "tests/conftest.py": b"changed", "fine.py": b"x"})

    taken = await snapshot_worktree(worktree, "work", None)

    assert sorted(reasons(taken.flagged)) == sorted(flagged)
    assert reasons(taken.flagged)["makefile"].endswith("take 'makefile' for 'Makefile'")
    assert set(flagged) <= set(project.files(taken.tree))
    assert taken.dropped == ()


async def test_attributes_that_servers_refuse_are_left_out(
    worktree: Worktree, project: Project, tmp_path: Path
) -> None:
    (worktree.root / ".gitattributes").write_text(f"*.py {'x' * 3000}\n")
    (worktree.root / "src" / ".gitattributes").write_text("*.py text\n")
    Project(worktree.root).write({"tests/.GitAttributes/file": "x"})
    naive = Project(tmp_path / "naive")
    naive.root.mkdir()
    naive.git("init", "-q")
    naive.commit({".gitattributes": f"*.py {'x' * 3000}\n"})
    assert "gitattributesLineLength" in naive.complaint("fsck", "--strict")

    taken = await snapshot_worktree(worktree, "work", "refs/orchestrate/test")

    assert [line.split(":")[0] for line in taken.dropped] == [".gitattributes", "tests/.GitAttributes/file"]
    assert "src/.gitattributes" in project.files(taken.tree)
    assert project.complaint("fsck", "--strict") == ""


SECRET = "canary-1166"
SPARSE = 1024**4 + 1
"""No multiple of 4 GiB: to git such a file is as large as an empty one, and is read to its end to compare it."""
NAMES = st.sampled_from(
    [
        *(
            "a",
            "b",
            "src",
            "README.md",
            "app.py",
            ".git",
            ".GIT",
            "git~1",
            ".gitmodules",
            ".gitattributes",
            ".gitignore",
        ),
        *("-rf", "--output=x", ":(glob)**", "esc\x1b[31m", "new\nline", "caf\udce9", "\u202etxt", "A", "__pycache__"),
        *("HEAD", "objects", "refs", "conftest.py", "x.pyc", ".git ", "CON", "a\\b", "tests"),
    ]
)
TARGETS = st.sampled_from(
    ["../outside", "/etc/passwd", "a", "..", "../../outside", ".git/config", "a/../../outside", ".", "/proc/self/root"]
)


def make_socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(place))


def make_sparse(place: Path) -> None:
    with place.open("wb") as sparse:
        sparse.truncate(SPARSE)


MAKERS: dict[str, Callable[[Path, str], object]] = {
    "file": lambda place, _: place.write_bytes(b"content\n"),
    "attributes": lambda place, _: place.write_text("* filter=evil text=auto eol=crlf ident\n" + "x " * 1500),
    "sparse": lambda place, _: make_sparse(place),
    "link": lambda place, target: place.symlink_to(target),
    "pipe": lambda place, _: os.mkfifo(place),
    "socket": lambda place, _: make_socket(place),
    "folder": lambda place, _: place.mkdir(),
    "repository": lambda place, _: Project(place.parent).git("init", "-q", "--", place.name, ok=False),
    "gone": lambda place, _: shutil.rmtree(place) if place.is_dir() else place.unlink(),
    "locked": lambda place, _: place.chmod(0),
}
STEPS = st.tuples(st.sampled_from(sorted(MAKERS)), st.lists(NAMES, min_size=1, max_size=3), TARGETS)


def take_step(root: Path, kind: str, names: list[str], target: str) -> None:
    """One deed of a hostile worker; those that are impossible where things stand are left undone."""
    place = root.joinpath(*names)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind not in ("gone", "locked") and place.is_fifo():
            return  # nobody reads what would be written into it
        if place.parent.resolve().is_relative_to(root):
            MAKERS[kind](place, target)
    except OSError:
        return


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=st.lists(STEPS, min_size=1, max_size=12))
@example([("link", [".gitattributes"], "a"), ("link", ["src", ".gitignore"], "a")])
@pytest.mark.attack(18)
async def test_whatever_a_worktree_holds_its_snapshot_is_sound_or_refused(
    worktree: Worktree, project: Project, tmp_path: Path, steps: list[tuple[str, list[str], str]]
) -> None:
    (tmp_path / "outside").write_text(SECRET)
    await worktree.restore_tree(project.tree(), keeps_ignored=False)
    for step in steps:
        take_step(worktree.root, *step)

    try:
        taken = await snapshot_worktree(worktree, "work", "refs/orchestrate/test")
    except GitError:
        return

    entries = [line.partition("\t") for line in project.git("ls-tree", "-r", "-z", taken.tree).split("\0") if line]
    assert not [path for meta, _, path in entries if meta.startswith("160000")]
    links = {
        path: project.show(f"{taken.tree}:{path}").decode() for meta, _, path in entries if meta.startswith("120000")
    }
    assert not [path for path, target in links.items() if leaves(path, target)]
    assert SECRET not in project.git("grep", "-h", "-e", SECRET, taken.tree, ok=False)
    assert project.complaint("fsck", "--strict", "--no-dangling", taken.commit) == ""


def leaves(path: str, target: str) -> bool:
    joined = os.path.normpath(os.path.join(os.path.dirname(path), target))  # noqa: PTH118, PTH120
    return target.startswith("/") or joined.startswith("..")


async def test_a_worktree_is_as_new_after_any_of_it(worktree: Worktree, pool: WorktreePool, project: Project) -> None:
    for kind in sorted(MAKERS):
        take_step(worktree.root, kind, ["src", kind], "../../outside")
    await pool.release_worktree(worktree)
    assert content((await pool.lease_worktree(worktree.commit)).root) == EXPECTED

import ctypes
import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import ToolRefused
from orchestrator.hands.files import safe_open, workspace_files

LIMIT = 1024


@pytest.fixture(params=["openat2", "walk"])
def tree(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace beside a secret, once for each way to open files."""
    if request.param == "walk":
        monkeypatch.setattr(safe_open, "has_openat2", lambda: False)
    (tmp_path / "secret").write_text("canary")
    root = tmp_path / "tree"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "a.py").write_text("one\n")
    return root


def test_reads_a_file(tree: Path) -> None:
    assert workspace_files.read_file(tree, "pkg/a.py", LIMIT) == b"one\n"
    assert workspace_files.read_file(tree, "./pkg//a.py", LIMIT) == b"one\n"


def test_a_write_replaces_the_content_and_keeps_the_mode(tree: Path) -> None:
    (tree / "pkg" / "a.py").chmod(0o755)
    workspace_files.write_file(tree, "pkg/a.py", b"two\n")
    assert (tree / "pkg" / "a.py").read_bytes() == b"two\n"
    assert (tree / "pkg" / "a.py").stat().st_mode & 0o777 == 0o755


def test_a_write_creates_missing_directories(tree: Path) -> None:
    workspace_files.write_file(tree, "new/deep/b.txt", b"x")
    assert (tree / "new" / "deep" / "b.txt").read_bytes() == b"x"
    assert sorted(p.name for p in (tree / "new" / "deep").iterdir()) == ["b.txt"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands files to another user")
def test_what_root_writes_belongs_to_the_sandbox_user(tree: Path) -> None:
    os.chown(tree / "pkg" / "a.py", 4321, 4321)
    workspace_files.write_file(tree, "pkg/a.py", b"x", owner=1234)
    workspace_files.write_file(tree, "new/b", b"x", owner=1234)
    assert [(tree / p).stat().st_uid for p in ("pkg/a.py", "new", "new/b")] == [4321, 1234, 1234]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../secret", "no path in the workspace"),
        ("pkg/../../secret", "no path in the workspace"),
        ("/etc/passwd", "no path in the workspace"),
        ("", "no path in the workspace"),
        (".", "no path in the workspace"),
        (".git", "git's own directory"),
        ("pkg/.GIT/config", "git's own directory"),
        (".git./config", "git's own directory"),
        ("git~1/config", "git's own directory"),
        (".git::$INDEX_ALLOCATION/config", "git's own directory"),
        ("a\nb", "control or invisible"),
        ("a\x1b[2Jb", "control or invisible"),
        ("a\0b", "control or invisible"),
        ("safe\u202etxt.exe", "control or invisible"),
        (".g\u200cit/config", "control or invisible"),
        ("n" * 256, "too long"),
        ("d/" * 2001 + "f", "too long"),
    ],
)
@pytest.mark.attack(32)
def test_a_path_that_is_no_plain_path_is_refused_for_reading_and_writing(tree: Path, path: str, reason: str) -> None:
    with pytest.raises(ToolRefused, match=reason):
        workspace_files.read_file(tree, path, LIMIT)
    with pytest.raises(ToolRefused, match=reason):
        workspace_files.write_file(tree, path, b"x")


@pytest.mark.parametrize("path", ["link", "folder-link/secret", "loop", "absolute", "magic"])
@pytest.mark.attack(20)
def test_no_symbolic_link_is_followed(tree: Path, path: str) -> None:
    """None of them leads to a file that anybody needs: without the walls it would be overwritten."""
    path = path.replace("magic", f"proc/root{tree.parent.resolve()}/secret")
    (tree / "link").symlink_to("../secret")
    (tree / "absolute").symlink_to(tree.parent / "secret")
    (tree / "folder-link").symlink_to("..")
    (tree / "loop").symlink_to("loop")
    (tree / "proc").symlink_to("/proc/self")
    if path != "loop":
        assert (tree / path).read_text()  # the control: an ordinary open follows it
    for attempt in (
        lambda: workspace_files.read_file(tree, path, LIMIT),
        lambda: workspace_files.write_file(tree, path, b"gone"),
    ):
        with pytest.raises(ToolRefused):
            attempt()
    assert (tree.parent / "secret").read_text() == "canary"


@pytest.mark.attack(19)
def test_a_pipe_a_socket_a_device_or_a_directory_is_refused_at_once(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    refusals = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tree / "socket"))
        for path in ("pipe", "socket", "pkg"):
            for attempt in (
                lambda p=path: workspace_files.read_file(tree, p, LIMIT),
                lambda p=path: workspace_files.write_file(tree, p, b"x"),
            ):
                with pytest.raises(ToolRefused) as refused:
                    attempt()
                refusals.append(str(refused.value))
    assert [r.split(" is ")[1].split(",")[0] for r in refusals] == [
        "a pipe", "a pipe", "not a regular file.", "a socket", "a directory", "a directory",
    ]  # fmt: skip


def test_a_file_larger_than_the_limit_is_refused_with_its_size(tree: Path) -> None:
    with (tree / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ToolRefused, match=r"1,099,511,627,776 bytes, more than the limit of 1,024"):
        workspace_files.read_file(tree, "sparse", LIMIT)
    (tree / "just").write_bytes(b"x" * LIMIT)
    assert len(workspace_files.read_file(tree, "just", LIMIT)) == LIMIT


def test_what_does_not_exist_is_refused_in_words(tree: Path) -> None:
    with pytest.raises(ToolRefused, match=r"^nope\.py does not exist\.$"):
        workspace_files.read_file(tree, "nope.py", LIMIT)
    with pytest.raises(ToolRefused, match=r"component that is not a directory"):
        workspace_files.read_file(tree, "pkg/a.py/b", LIMIT)
    with pytest.raises(ToolRefused, match=r"component that is not a directory"):
        workspace_files.write_file(tree, "pkg/a.py/b", b"")


@pytest.mark.parametrize("action", ["read", "write"])
@pytest.mark.attack(21)
def test_a_directory_swapped_for_a_link_in_a_race_never_leads_outside(tree: Path, action: str) -> None:
    (tree.parent / "out").mkdir()
    (tree.parent / "out" / "f").write_text("canary")
    (tree / "dir").mkdir()
    (tree / "dir" / "f").write_text("inside")
    (tree / "evil").symlink_to(tree.parent / "out")
    stop = threading.Event()

    def swap() -> None:
        exchange = ctypes.CDLL(None).renameat2
        while not stop.is_set():
            exchange(-100, bytes(tree / "dir"), -100, bytes(tree / "evil"), 2)  # RENAME_EXCHANGE

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = set()
    try:
        for turn in range(50_000):
            if turn >= 1_000 and len(seen) == 2:
                break
            try:
                seen.add(
                    workspace_files.read_file(tree, "dir/f", LIMIT)
                    if action == "read"
                    else workspace_files.write_file(tree, "dir/f", b"new")
                )
            except ToolRefused:
                seen.add(b"refused")
    finally:
        stop.set()
        swapper.join()
    assert b"canary" not in seen
    assert len(seen) == 2  # the control: the race was really on, both outcomes were met
    assert (tree.parent / "out" / "f").read_text() == "canary"
    assert sorted(p.name for p in (tree.parent / "out").iterdir()) == ["f"]


def test_a_refused_write_leaves_nothing_behind(tree: Path) -> None:
    (tree / "link").symlink_to("pkg")
    with pytest.raises(ToolRefused):
        workspace_files.write_file(tree, "link", b"x")
    with pytest.raises(ToolRefused):
        workspace_files.write_file(tree, "pkg", b"x")
    assert sorted(p.name for p in tree.iterdir()) == ["link", "pkg"]


@given(st.text(max_size=40))
def test_a_tidied_path_is_relative_and_stays_below(path: str) -> None:
    try:
        tidied = workspace_files.normalize_path(path)
    except (ToolRefused, UnicodeEncodeError):
        return
    assert not tidied.is_absolute()
    assert not {"..", ".", ""} & set(tidied.parts)
    assert tidied.parts

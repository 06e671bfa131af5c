import pytest

from orchestrator.hands.sandbox.backend import (
    Mount,
    build_link_mount,
    build_read_only_mount,
    build_tmpfs_mount,
    build_writable_mount,
    sort_mounts,
)
from orchestrator.hands.sandbox.bubblewrap_arguments import BubblewrapLaunch, build_bubblewrap_arguments
from orchestrator.hands.sandbox.program_search import SandboxPrograms

PROGRAMS = SandboxPrograms(
    bwrap="/usr/bin/bwrap",
    prlimit="/usr/bin/prlimit",
    setpriv="/usr/bin/setpriv",
    version="bubblewrap 0.8.0",
    options=frozenset({"--disable-userns", "--size"}),
)
MOUNTS = (
    build_read_only_mount("/usr"),
    build_link_mount("/bin", "usr/bin"),
    build_writable_mount("/state/tree", "/home/ann/repo"),
    build_tmpfs_mount("/home/ann", 1000),
)


def launch(*mounts: Mount) -> BubblewrapLaunch:
    return BubblewrapLaunch(
        mounts or MOUNTS, {"B": "2", "A": "1"}, "/home/ann/repo", ("sh", "-c", "true"), 500, "box", 7, 8
    )


INNER = [
    *("--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--die-with-parent", "--new-session"),
    *(
        "--disable-userns",
        "--uid",
        "7",
        "--gid",
        "8",
        "--hostname",
        "box",
        "--clearenv",
        "--setenv",
        "A",
        "1",
        "--setenv",
        "B",
        "2",
    ),
    *("--dev", "/dev", "--size", "500", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
    *("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"),
]
END = ["--remount-ro", "/", "--chdir", "/home/ann/repo", "--json-status-fd", "6", "--", "sh", "-c", "true"]


def test_a_normal_user_starts_one_bubblewrap() -> None:
    assert build_bubblewrap_arguments(launch(), PROGRAMS, None, 5, 6) == [
        "/usr/bin/bwrap", "--info-fd", "5", *INNER, "--symlink", "usr/bin", "/bin",
        "--size", "1000", "--tmpfs", "/home/ann", "--bind", "/state/tree", "/home/ann/repo",
        "--ro-bind", "/usr", "/usr", *END,
    ]  # fmt: skip


def test_root_stages_what_is_bound_drops_its_rights_and_starts_the_sandbox_as_a_user() -> None:
    assert build_bubblewrap_arguments(launch(), PROGRAMS, 65534, 5, 6) == [
        "/usr/bin/bwrap", "--info-fd", "5",
        "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc",
        "--tmpfs", "/run", "--dir", "/run/stage", "--bind", "/proc", "/run/proc",
        "--bind", "/state/tree", "/run/stage/0",
        "--chdir", "/", "--unshare-pid", "--die-with-parent", "--",
        "/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
        "/usr/bin/bwrap", *INNER, "--symlink", "usr/bin", "/bin",
        "--size", "1000", "--tmpfs", "/home/ann", "--bind", "/run/stage/0", "/home/ann/repo",
        "--ro-bind", "/usr", "/usr", *END,
    ]  # fmt: skip


def test_options_that_an_older_bubblewrap_does_not_know_are_left_out() -> None:
    old = SandboxPrograms(PROGRAMS.bwrap, PROGRAMS.prlimit, None, "bubblewrap 0.6.1", frozenset())
    words = build_bubblewrap_arguments(launch(), old, None, 5, 6)
    assert not {"--disable-userns", "--size"} & set(words)


def test_outer_places_are_mounted_before_those_inside_them() -> None:
    mounts = [
        build_read_only_mount("/a/b/c"),
        build_read_only_mount("/a-z"),
        build_tmpfs_mount("/a", 1),
        build_read_only_mount("/a/b"),
    ]
    assert [m.dest for m in sort_mounts(mounts)] == ["/a", "/a/b", "/a/b/c", "/a-z"]


@pytest.mark.parametrize("later", [build_read_only_mount("/x", "/a"), build_tmpfs_mount("/a", 1)])
def test_of_two_mounts_at_one_place_the_later_one_counts(later: Mount) -> None:
    assert sort_mounts([build_read_only_mount("/a"), later]) == (later,)

import os
import subprocess
from pathlib import Path

import pytest

from orchestrator.hands.limits.cgroup import ControlGroup, ControlGroupParent, find_group_parent, load_group_parent
from orchestrator.hands.policy import CommandLimits


def folder(place: Path, control: str | None = None) -> Path:
    """A directory as the kernel shows a group."""
    place.mkdir(parents=True)
    (place / "cgroup.procs").touch()
    if control is not None:
        (place / "cgroup.subtree_control").write_text(control)
    return place


def mounted(place: Path, kind: str, options: str, root: str = "/") -> str:
    return f"31 23 0:28 {root} {place} rw,relatime shared:9 - {kind} none rw,{options}\n"


def test_a_session_under_systemd_has_its_groups_beside_its_own(tmp_path: Path) -> None:
    """Its own group holds processes, so it cannot be divided; the one above, which is the user's, can."""
    place = tmp_path / "cgroup"
    slices = folder(place, "") / "user.slice" / "user@1000.service"
    folder(slices, "cpu memory pids\n")
    folder(slices / "app.slice", "memory pids\n")
    folder(slices / "app.slice" / "terminal.scope", "")
    own = "0::/user.slice/user@1000.service/app.slice/terminal.scope\n"
    assert find_group_parent(mounted(place, "cgroup2", "nsdelegate"), own) == ControlGroupParent(
        2, (slices / "app.slice",)
    )


def test_where_nothing_is_handed_down_there_are_no_groups(tmp_path: Path) -> None:
    place = folder(tmp_path / "cgroup", "cpu\n")
    folder(place / "own", "")
    assert find_group_parent(mounted(place, "cgroup2", "nsdelegate"), "0::/own\n") is None
    assert find_group_parent("", "0::/\n") is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_groups_of_others_are_left_alone(tmp_path: Path) -> None:
    place = folder(tmp_path / "cgroup", "memory pids\n")
    place.chmod(0o555)
    assert find_group_parent(mounted(place, "cgroup2", "nsdelegate"), "0::/\n") is None


def test_version_1_needs_every_controller_and_stays_below_our_own_groups(tmp_path: Path) -> None:
    memory, pids, cpu = (folder(tmp_path / name) for name in ("memory", "pids", "cpu,cpuacct"))
    inner = folder(memory / "job")
    mounts = mounted(memory, "cgroup", "memory") + mounted(pids, "cgroup", "pids", "/docker/1")
    own = "9:cpu,cpuacct:/\n8:pids:/docker/1\n4:memory:/job\n0::/\n"
    assert find_group_parent(mounts, own) is None
    mounts += mounted(cpu, "cgroup", "cpu,cpuacct")
    assert find_group_parent(mounts, own) == ControlGroupParent(1, (inner, pids, cpu))


@pytest.mark.parametrize(
    ("files", "cpu_s", "has_overflowed"),
    [
        ({"cpu.stat": "usage_usec 1500000\nuser_usec 1\n", "memory.events": "low 0\noom 1\noom_kill 0\n"}, 1.5, False),
        ({"cpu.stat": "usage_usec 0\n", "memory.events": "oom 2\noom_kill 1\noom_group_kill 0\n"}, 0, True),
        ({"cpuacct.usage": "2500000000\n", "memory.oom_control": "oom_kill_disable 0\noom_kill 3\n"}, 2.5, True),
        ({"cpuacct.usage": "1\n", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"}, 0, False),
    ],
)
def test_both_versions_tell_of_time_and_memory(
    tmp_path: Path, files: dict[str, str], cpu_s: float, has_overflowed: bool
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    group = ControlGroup((tmp_path,))
    assert (round(group.read_cpu_s(), 3), group.has_oom_kill()) == (cpu_s, has_overflowed)


@pytest.fixture
def groups() -> ControlGroupParent:
    found = load_group_parent()
    if found is None or not found.can_enter_group():
        pytest.skip("this host lets us make no control groups")
    return found


def test_what_enters_a_group_is_counted_and_the_group_goes_when_it_has_ended(groups: ControlGroupParent) -> None:
    group = groups.create_group(CommandLimits(memory_bytes=64 * 1024**2))
    line = group.wrap_command(["sh", "-c", "cat /proc/self/cgroup; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"])
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert done.stdout.count(group.folders[0].name) == len(group.folders)
    assert group.read_cpu_s() > 0
    assert not group.has_oom_kill()
    group.remove_group()
    assert not any(folder.exists() for folder in group.folders)


def test_groups_of_processes_that_were_killed_are_swept_by_the_next(groups: ControlGroupParent) -> None:
    with subprocess.Popen(["true"]) as process:
        pass
    left = [place / f"orchestrate-{process.pid}-1" for place in groups.parent_folders]
    ours = groups.create_group(CommandLimits())
    for one in left:
        one.mkdir()
    try:
        load_group_parent()
        assert not any(one.exists() for one in left)
        assert all(one.exists() for one in ours.folders)
    finally:
        ours.remove_group()

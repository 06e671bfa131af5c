"""Other users of the same machine: what they can read of ours, put in its place, or hold up."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import cli
from orchestrator.errors import EnvironmentProblem, RunLocked
from orchestrator.journal.full_text.search import search_events
from orchestrator.journal.locations import run_lock
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.journal.locations.run_lock import find_lock_owner, hold_run_lock
from tests.running.goals import Bench, one
from tests.running.kept_place import GOAL, Place, kept_runs
from tests.running.projects import calculator
from tests.running.users import NOBODY, STRANGER, run_as_another
from worktrees.locks import file_lock as file_locks
from worktrees.locks.file_lock import try_file_lock

IS_ROOT = os.geteuid() == 0
OTHERS = 0o077
HOLDING = "import fcntl, sys, time; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); "


@pytest.fixture
def _generous_umask() -> Iterator[None]:
    """A user who takes nothing away from the modes that programs ask for."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def _passable(tmp_path: Path) -> None:
    """Others can come as far as the test's own directory."""
    for parent in (tmp_path, *tmp_path.parents):
        found = parent.stat()
        if found.st_uid == os.geteuid() and not found.st_mode & 0o001:
            parent.chmod(found.st_mode | 0o055)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return kept_runs(tmp_path)


def root_of(place: Place) -> Path:
    return StateDirectory.locate_for(place.repo, str(place.state)).path


def status(place: Place) -> Result:
    return CliRunner().invoke(cli, ["status", GOAL, *place.where])


@pytest.mark.sandbox
@pytest.mark.attack(57)
@pytest.mark.usefixtures("_generous_umask", "_passable")
async def test_nobody_else_reads_what_a_run_keeps(tmp_path: Path) -> None:
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    ended = await bench.run(*one("a"))
    root = ended.directory.path.parent.parent
    rooms = {entry.name for entry in root.iterdir()}
    assert {"runs", "worktrees", "logs"} <= rooms
    open_to_others = {entry for entry in (root, *root.rglob("*")) if _is_open_room(entry, root)}
    assert open_to_others == set()
    if IS_ROOT:
        wanted = ("find", str(ended.directory.journal), str(root / "worktrees"))
        assert run_as_another(*wanted).count("Permission denied") == 2
        for entry in (root.parent, root, *(root / room for room in ("runs", "worktrees")), ended.directory.path):
            entry.chmod(0o755)
        assert "Permission denied" not in run_as_another(*wanted)


def _is_open_room(entry: Path, root: Path) -> bool:
    """Whether others can enter a directory of ours; inside worktrees and journals the outer ones hold them back."""
    is_outer = len(entry.relative_to(root).parts) < 2
    return is_outer and entry.is_dir() and bool(entry.stat().st_mode & OTHERS)


@pytest.mark.attack(57)
def test_a_directory_of_an_earlier_version_is_closed_and_that_is_said_once(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    root = root_of(place)
    root.chmod(0o2755)
    first, second = status(place), status(place)
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert caplog.messages == [f"other users could read {root} until now; it is closed to them (mode 0700)"]
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


@pytest.mark.attack(57)
def test_a_directory_that_the_user_names_stays_as_it_is(place: Place) -> None:
    place.state.chmod(0o755)
    (place.state / "other").mkdir(mode=0o755)
    status(place)
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (place.state, place.state / "other", root_of(place))]
    assert modes == [0o755, 0o755, 0o700]


@pytest.mark.attack(57)
@pytest.mark.parametrize("opened", ["state", "above", "link"])
def test_what_others_can_write_to_or_replace_is_refused(place: Place, tmp_path: Path, opened: str) -> None:
    if opened == "state":
        root_of(place).chmod(0o777)
        says = "every user can write to"
    elif opened == "above":
        place.state.chmod(0o777)
        says = "every user can change"
    else:
        (tmp_path / "public").mkdir()
        (tmp_path / "public" / "link").symlink_to(place.state)
        place = Place(place.repo, tmp_path / "public" / "link")
        assert status(place).exit_code == 0
        (tmp_path / "public").chmod(0o777)
        says = "every user can change"
    refused = status(place)
    assert isinstance(refused.exception, EnvironmentProblem)
    assert says in str(refused.exception)
    assert "--state DIR" in str(refused.exception)


@pytest.mark.attack(57)
def test_a_shared_directory_with_a_sticky_bit_is_good_enough(place: Place) -> None:
    place.state.chmod(0o1777)
    assert status(place).exit_code == 0


@pytest.mark.attack(57)
@pytest.mark.parametrize("planted", ["directory", "link", "parent"])
def test_what_belongs_to_another_user_is_refused(place: Place, tmp_path: Path, planted: str) -> None:
    if not IS_ROOT:
        pytest.skip("about starting as root")
    root = root_of(place)
    place.state.chmod(0o1777)
    if planted == "directory":
        os.chown(root, STRANGER, STRANGER)
    elif planted == "parent":
        os.chown(place.state, NOBODY, NOBODY)
    else:
        root.rename(tmp_path / "elsewhere")
        root.symlink_to(tmp_path / "elsewhere")
        assert status(place).exit_code == 0
        os.chown(root, NOBODY, NOBODY, follow_symlinks=False)
    refused = status(place)
    assert isinstance(refused.exception, EnvironmentProblem)
    assert f"user {STRANGER}" in str(refused.exception) or "nobody can change" in str(refused.exception)


@pytest.mark.attack(58)
@pytest.mark.usefixtures("_passable")
def test_another_user_cannot_hold_a_lock_of_ours(place: Place) -> None:
    if not IS_ROOT:
        pytest.skip("about starting as root")
    root, run = root_of(place), root_of(place) / "runs" / GOAL
    assert status(place).exit_code == 0
    with hold_run_lock(run, "run"):
        assert [stat.S_IMODE((run / name).stat().st_mode) for name in ("lock", "lock.turn")] == [0o600, 0o600]
        for opened in (root, root / "runs", run):
            opened.chmod(0o755)
        assert "Permission denied" in run_as_another(sys.executable, "-c", f"{HOLDING}", str(run / "lock.turn"))
    (run / "lock.turn").chmod(0o644)
    assert "held" in run_as_another("/usr/bin/python3", "-c", HOLDING, str(run / "lock.turn"))


@pytest.mark.attack(58)
def test_a_lock_that_is_held_is_waited_for_aloud_and_not_for_ever(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(run_lock, "TURN_TIMEOUT_S", 0.5)
    monkeypatch.setattr(file_locks, "_SILENCE_S", 0.1)
    run = root_of(place) / "runs" / GOAL
    (run / "lock.turn").touch()
    words = [sys.executable, "-c", f"{HOLDING}time.sleep(60)", str(run / "lock.turn")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        says = rf"lock\.turn of process {process.pid} is still held"
        with pytest.raises(RunLocked, match=says) as raised, hold_run_lock(run, "run"):
            pytest.fail("two holders at once")
        process.kill()
    assert raised.value.exit_code == 8
    assert [f"of process {process.pid}" in message for message in caplog.messages] == [True]


def a_link(spot: Path, target: Path) -> None:
    spot.symlink_to(target)


def a_second_name(spot: Path, target: Path) -> None:
    spot.hardlink_to(target)


def a_pipe(spot: Path, _target: Path) -> None:
    os.mkfifo(spot)
    with pytest.raises(OSError) as raised:  # whoever just opens it waits for a reader
        os.open(spot, os.O_WRONLY | os.O_NONBLOCK)
    assert raised.value.errno == errno.ENXIO


@pytest.mark.attack(58)
@pytest.mark.timeout(30)
@pytest.mark.parametrize("plant", [a_link, a_second_name, a_pipe])
@pytest.mark.parametrize("name", ["lock", "lock.turn", "search.lock", "gc.lock"])
def test_what_is_planted_in_place_of_a_lock_is_neither_followed_nor_waited_for(
    place: Place, tmp_path: Path, name: str, plant: Callable[[Path, Path], None]
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    run = root_of(place) / "runs" / GOAL
    plant(run / name, precious)
    if name == "search.lock":
        assert search_events(run, "goal", 1) is not None
    elif name == "gc.lock":
        with pytest.raises(OSError, match="remove it"):
            try_file_lock(run / name)
    else:
        assert find_lock_owner(run) is None
        with pytest.raises(EnvironmentProblem, match="remove it"), hold_run_lock(run, "run"):
            pytest.fail("something else was taken for a lock")
    assert precious.read_text() == "mine"
    assert precious.stat().st_mode & OTHERS


def test_a_lock_that_others_could_open_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "lock").touch(mode=0o644)
    held: Any = try_file_lock(tmp_path / "lock")
    assert stat.S_IMODE(os.fstat(held).st_mode) == 0o600
    os.close(held)

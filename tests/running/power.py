"""Cutting the power of a run: engine and all of its processes die at one instant, perhaps while a ref is written."""

import ctypes
import os
import select
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.running.cli import COMMAND

_LIBC = ctypes.CDLL(None, use_errno=True)
_CREATED, _MOVED_HERE, _IS_DIRECTORY = 0x100, 0x80, 0x40000000
_EVENT = struct.Struct("iIII")
_NAMESPACE = ("--pid", "--fork", "--kill-child", "--mount-proc")
_STAYS = 'trap : INT TERM; "$@"; exit $?'
"""A shell that stays the first process of the machine, which takes in orphans as init does."""
_WAIT_S = 60.0


@dataclass(frozen=True)
class Machine:
    """A process name space with a command and all that it starts: they have one life."""

    outer: "subprocess.Popen[bytes]"
    init: int
    said: Path

    @classmethod
    def start(cls, words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> "Machine":
        """Run `orchestrate` with these words on a machine of its own; what it says goes to `said`."""
        rights = () if os.geteuid() == 0 else ("--user", "--map-current-user")
        said = cwd / "said"
        command = ["unshare", *rights, *_NAMESPACE, "bash", "-c", _STAYS, "machine", *COMMAND, *words]
        with said.open("wb") as log:
            outer = subprocess.Popen(
                command, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        return cls(outer, _only_child(outer), said)

    @property
    def is_on(self) -> bool:
        """Return True while the command runs."""
        return self.outer.poll() is None

    def cut_power(self) -> bool:
        """Kill every process at once, and wait until none is left; return True if the command was still running."""
        was_on = self.is_on
        with suppress(ProcessLookupError):
            os.kill(self.init, signal.SIGKILL)
        self.outer.wait(_WAIT_S)
        return was_on

    def processes(self) -> list[int]:
        """Return the processes that the machine has, as they are numbered outside."""
        found, waiting = [], [self.init]
        while waiting:
            process = waiting.pop()
            children = _children(process)
            found.append(process)
            waiting += children
        return found


def _only_child(process: "subprocess.Popen[bytes]") -> int:
    until = time.monotonic() + _WAIT_S
    while process.poll() is None and time.monotonic() < until:
        if children := _children(process.pid):
            return children[0]
        time.sleep(0.001)
    raise AssertionError(f"the machine did not start: {process.args}")


def _children(process: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return found


@dataclass
class LockWatch:
    """Sees lock files come into being below the directories of refs, as soon as the kernel tells."""

    descriptor: int
    git_dir: Path
    places: dict[int, Path]

    def await_lock(self, machine: Machine, seconds: float) -> bool:
        """Wait until a ref is locked; False if the machine went off before, or nothing was locked for so long."""
        until = time.monotonic() + seconds
        while machine.is_on and time.monotonic() < until:
            if self._sees_lock():
                return True
        return False

    def _sees_lock(self) -> bool:
        if not select.select([self.descriptor], [], [], 0.02)[0]:
            return False
        created = list(self._created(os.read(self.descriptor, 65536)))
        for directory in [path for path, is_directory in created if is_directory]:
            self.watch_below(directory)
            created += [(path, False) for path in directory.rglob("*.lock")]
        return any(self._is_lock(path) and path.exists() for path, is_directory in created if not is_directory)

    def _created(self, told: bytes) -> Iterator[tuple[Path, bool]]:
        place = 0
        while place < len(told):
            watch, mask, _, length = _EVENT.unpack_from(told, place)
            name = os.fsdecode(told[place + _EVENT.size : place + _EVENT.size + length].rstrip(b"\0"))
            place += _EVENT.size + length
            yield self.places[watch] / name, bool(mask & _IS_DIRECTORY)

    def _is_lock(self, path: Path) -> bool:
        return path.suffix == ".lock" and (path.parent != self.git_dir or path.name == "packed-refs.lock")

    def watch_below(self, root: Path) -> None:
        """Watch a directory and all in it, but no more than itself of the git directory."""
        for directory in [root] if root == self.git_dir else _directories(root):
            wanted = _CREATED | _MOVED_HERE
            watch = _LIBC.inotify_add_watch(self.descriptor, os.fsencode(directory), wanted)
            if watch >= 0:
                self.places[watch] = directory


def _directories(root: Path) -> Iterator[Path]:
    for directory, _, _ in os.walk(root):
        yield Path(directory)


@contextmanager
def watching_locks(git_dir: Path) -> Iterator[LockWatch]:
    """Watch the refs of a repository."""
    descriptor = _LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    assert descriptor >= 0, os.strerror(ctypes.get_errno())
    try:
        watch = LockWatch(descriptor, git_dir, {})
        watch.watch_below(git_dir)
        watch.watch_below(git_dir / "refs")
        yield watch
    finally:
        os.close(descriptor)


def locks_left(git_dir: Path) -> list[Path]:
    """Return the lock files of refs that are there."""
    packed = git_dir / "packed-refs.lock"
    return [*(git_dir / "refs").rglob("*.lock"), *([packed] if packed.exists() else [])]

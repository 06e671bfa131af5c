"""Files without a name that processes keep alive: by a descriptor, by mapping them or by running them.

The size of a mapped file is shown only to those with rights over the whole machine, and descriptors on their way
through a Unix socket are in no process at all. Both are reported as such, so that the host's own sums decide then.
"""

import contextlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from orchestrator.domain.text.lazy_pattern import compile_lazily
from worktrees.safety.descriptors import hold_descriptor

_BLOCK_BYTES = 512
_PIECE_BYTES = 1 << 16
_IN_FLIGHT = compile_lazily(rb"^scm_fds:\s*[1-9]", re.MULTILINE)
_DELETED = compile_lazily(
    rb"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) +(/.*) \(deleted\)$", re.MULTILINE
)
_SYSTEM_V = b"/SYSV"
"""The path prefix of System V segments, which `ipc_objects` counts whoever maps them."""

_REQUESTS = b"/[aio]"
"""A ring in which the kernel and a process exchange requests; it is no file."""

FileIdentity = tuple[int, int]
"""The numbers of a file system and of a file in it."""


@dataclass
class UnlinkedFiles:
    """Regular files without a name: bytes as allocated, by identity.

    `unsized_devices` are the file systems of mapped files of unknown size. `has_descriptors_in_flight` is true if a
    socket holds descriptors that nobody has received yet.
    """

    sizes: dict[FileIdentity, int] = field(default_factory=dict)
    unsized_devices: set[int] = field(default_factory=set)
    has_descriptors_in_flight: bool = False

    def get_size_bytes(self, device: int) -> int:
        """Return what the files of known size hold on one file system."""
        return sum(size for (file_device, _), size in self.sizes.items() if file_device == device)


@cache
def get_shared_memory_device() -> int:
    """Return the number of the file system of memfd, System V segments and memory that is mapped to be shared."""
    with hold_descriptor(os.memfd_create("device")) as probe:
        return os.fstat(probe).st_dev


def find_unlinked_files(proc: int, names: Sequence[str]) -> UnlinkedFiles:
    """Return what the processes of these names hold; `proc` is a descriptor of their /proc."""
    found = UnlinkedFiles()
    for name in names:
        with contextlib.suppress(OSError):  # it has ended
            _add_descriptors(found, proc, name)
        _add_file(found, proc, f"{name}/exe")
    for name in names:
        _add_mappings(found, proc, name)
    return found


def _add_descriptors(found: UnlinkedFiles, proc: int, name: str) -> None:
    """Add the files behind the descriptors of each thread, which may have some of its own."""
    for thread in list_proc_folder(proc, f"{name}/task"):
        for number in list_proc_folder(proc, f"{name}/task/{thread}/fd"):
            mode = _add_file(found, proc, f"{name}/task/{thread}/fd/{number}")
            if stat.S_ISSOCK(mode) and _IN_FLIGHT.search(read_proc_file(proc, f"{name}/task/{thread}/fdinfo/{number}")):
                found.has_descriptors_in_flight = True


def _add_file(found: UnlinkedFiles, proc: int, path: str) -> int:
    """Return the mode of what a path leads to; 0 if it is gone, or not for us to see."""
    try:
        status = os.stat(path, dir_fd=proc)
    except OSError:
        return 0
    if stat.S_ISREG(status.st_mode) and not status.st_nlink:
        found.sizes[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK_BYTES
    return status.st_mode


def _add_mappings(found: UnlinkedFiles, proc: int, name: str) -> None:
    for start, end, major, minor, inode, path in _DELETED.findall(read_proc_file(proc, f"{name}/maps")):
        device = os.makedev(int(major, 16), int(minor, 16))
        is_system_v = device == get_shared_memory_device() and path.startswith(_SYSTEM_V)
        if is_system_v or path == _REQUESTS or (device, int(inode)) in found.sizes:
            continue
        file = f"{name}/map_files/{int(start, 16):x}-{int(end, 16):x}"
        try:
            os.stat(file, dir_fd=proc)
        except FileNotFoundError:
            continue  # unmapped meanwhile
        except OSError:
            found.unsized_devices.add(device)
        else:
            _add_file(found, proc, file)


def list_proc_folder(proc: int, folder: str) -> list[str]:
    """Return the names in a directory. Raises OSError if it is gone."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with hold_descriptor(os.open(folder, flags, dir_fd=proc)) as descriptor, os.scandir(descriptor) as entries:
        return [entry.name for entry in entries]


def read_proc_file(proc: int, path: str) -> bytes:
    """Return all that the kernel writes into a file of /proc; nothing if it is gone or closed to us."""
    content = b""
    flags = os.O_RDONLY | os.O_CLOEXEC
    with contextlib.suppress(OSError), hold_descriptor(os.open(path, flags, dir_fd=proc)) as file:
        while piece := os.read(file, _PIECE_BYTES):
            content += piece
    return content

"""The mounts of a sandbox, and the order in which they have to be made."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath


class MountKind(StrEnum):
    """The ways to fill a place inside a sandbox."""

    READ_ONLY = "read-only"
    WRITABLE = "writable"
    EMPTY = "empty"
    LINK = "link"


@dataclass(frozen=True)
class Mount:
    """A place inside. `source` is a host path, or the target of a link; `size_bytes` bounds an empty directory."""

    kind: MountKind
    dest: str
    source: str = ""
    size_bytes: int = 0

    @property
    def is_bind_mount(self) -> bool:
        """True if it shows something of the host."""
        return self.kind in (MountKind.READ_ONLY, MountKind.WRITABLE)


def build_read_only_mount(source: object, dest: object | None = None) -> Mount:
    """Return the mount of a host file or directory, at its own path unless `dest` is given."""
    return Mount(MountKind.READ_ONLY, str(source if dest is None else dest), str(source))


def build_writable_mount(source: object, dest: object) -> Mount:
    """Return the mount of a host directory that may be written to."""
    return Mount(MountKind.WRITABLE, str(dest), str(source))


def build_tmpfs_mount(dest: object, size_bytes: int) -> Mount:
    """Return the mount of a new directory in memory."""
    return Mount(MountKind.EMPTY, str(dest), size_bytes=size_bytes)


def build_link_mount(dest: object, target: object) -> Mount:
    """Return a symbolic link as a mount."""
    return Mount(MountKind.LINK, str(dest), str(target))


def sort_mounts(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Return the mounts with outer places first; of two mounts at one place the later one counts."""
    by_place = {mount.dest: mount for mount in mounts}
    return tuple(sorted(by_place.values(), key=lambda mount: PurePosixPath(mount.dest).parts))

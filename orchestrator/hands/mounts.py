"""What stands where inside a sandbox, in the order in which it has to be mounted."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath


class Kind(StrEnum):
    """How a place inside comes about."""

    READ_ONLY = "read-only"
    WRITABLE = "writable"
    EMPTY = "empty"
    LINK = "link"


@dataclass(frozen=True)
class Mount:
    """A place inside. `source` is a host path, or the target of a link; `size_bytes` bounds an empty directory."""

    kind: Kind
    dest: str
    source: str = ""
    size_bytes: int = 0

    @property
    def is_bound(self) -> bool:
        """Whether it shows something of the host."""
        return self.kind in (Kind.READ_ONLY, Kind.WRITABLE)


def read_only(source: object, dest: object | None = None) -> Mount:
    """A host file or directory, at its own path unless `dest` is given."""
    return Mount(Kind.READ_ONLY, str(source if dest is None else dest), str(source))


def writable(source: object, dest: object) -> Mount:
    """A host directory that may be written to."""
    return Mount(Kind.WRITABLE, str(dest), str(source))


def empty(dest: object, size_bytes: int) -> Mount:
    """A directory in memory."""
    return Mount(Kind.EMPTY, str(dest), size_bytes=size_bytes)


def link(dest: object, target: object) -> Mount:
    """A symbolic link."""
    return Mount(Kind.LINK, str(dest), str(target))


def in_order(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Outer places before those inside them; of two mounts at one place the later one counts."""
    by_place = {mount.dest: mount for mount in mounts}
    return tuple(sorted(by_place.values(), key=lambda mount: PurePosixPath(mount.dest).parts))

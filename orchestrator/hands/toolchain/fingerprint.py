"""A cheap hash that changes when an installed tool chain does: file times and sizes, no contents of packages."""

import hashlib
import platform
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

_TELLING = ("bin", "lib", "pyvenv.cfg", ".package-lock.json", ".yarn-state.yml", "conda-meta/history")
_TELLING_GLOBS = ("lib/python*/site-packages", "lib/python*/dist-packages")
_SYSTEM = (
    *("/usr/bin", "/usr/lib", "/usr/local/bin", "/usr/local/lib", "/etc/ld.so.cache"),
    *("/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite", "/lib/apk/db/installed", "/var/lib/pacman/local"),
)


def compute_fingerprint(directories: Iterable[Path]) -> str:
    """Return a hash of the state of these directories, of the system's packages and of the kernel."""
    digest = hashlib.sha256(f"{platform.machine()} {platform.release()}\n".encode())
    markers = chain.from_iterable(map(_iterate_markers, sorted(directories)))
    for path in (*map(Path, _SYSTEM), *markers):
        digest.update(f"{path}\0{_describe_state(path)}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _iterate_markers(directory: Path) -> Iterator[Path]:
    yield directory
    for name in _TELLING:
        yield directory / name
    for pattern in _TELLING_GLOBS:
        yield from sorted(directory.glob(pattern))


def _describe_state(path: Path) -> str:
    try:
        stat = path.stat()
    except OSError:
        return "absent"
    return f"{stat.st_mtime_ns} {stat.st_size} {stat.st_mode:o}"

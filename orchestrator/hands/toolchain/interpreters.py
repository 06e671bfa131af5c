"""Finds the interpreter installations that a Python environment needs, and tells when a tool chain has changed."""

import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from importlib import resources
from itertools import chain
from pathlib import Path

_MAX_HOPS = 16
_MAX_CONFIG_BYTES = 64 * 1024
_TELLING = ("bin", "lib", "pyvenv.cfg", ".package-lock.json", ".yarn-state.yml", "conda-meta/history")
_TELLING_GLOBS = ("lib/python*/site-packages", "lib/python*/dist-packages")
_SYSTEM = (
    *("/usr/bin", "/usr/lib", "/usr/local/bin", "/usr/local/lib", "/etc/ld.so.cache"),
    *("/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite", "/lib/apk/db/installed", "/var/lib/pacman/local"),
)


def get_own_python() -> Path:
    """Return our own interpreter, which every sandbox holds at its path; not that of a virtual environment."""
    return Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"


def read_script(folder: str, name: str) -> str:
    """Return a script of `hands/FOLDER` that our own Python runs elsewhere, without this package."""
    return resources.files(f"orchestrator.hands.{folder}").joinpath(name).read_text(encoding="utf-8")


def find_base_installations(directory: Path) -> tuple[Path, ...]:
    """Return the installations that the virtual environment needs to start, nearest first; () if it is none.

    Follows `home =` of `pyvenv.cfg` and every hop of the symbolic links of `bin/python`, through environments that
    were made from other environments.
    """
    found: dict[Path, None] = {}
    pending = [directory]
    while pending and len(found) < _MAX_HOPS:
        for prefix in _iterate_needed(pending.pop()):
            if prefix not in found and prefix != directory:
                found[prefix] = None
                if not is_closed(prefix):
                    pending.append(prefix)
    return tuple(found)


def is_virtual_environment(directory: Path) -> bool:
    """Return True if the directory is a virtual environment."""
    return (directory / "pyvenv.cfg").is_file()


def _iterate_needed(directory: Path) -> Iterator[Path]:
    if not is_virtual_environment(directory):
        return
    home = _read_home(directory / "pyvenv.cfg")
    if home is not None:
        yield get_installation(home / "python")
        yield get_installation(Path(os.path.realpath(home / "python")))
    for hop in follow_links(directory / "bin" / "python"):
        yield get_installation(hop)


def _read_home(config: Path) -> Path | None:
    with config.open("rb") as file:
        text = file.read(_MAX_CONFIG_BYTES).decode("utf-8", "replace")
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home" and Path(value.strip()).is_absolute():
            return Path(os.path.normpath(value.strip()))
    return None


def follow_links(link: Path) -> Iterator[Path]:
    """Yield every file on the way from a symbolic link to what it finally names, as far as this user may look."""
    hop = link
    for _ in range(_MAX_HOPS):
        if is_closed(hop.parent):
            return
        if not hop.is_symlink():
            break
        hop = Path(os.path.normpath(hop.parent / hop.readlink()))
        yield hop
    if link.exists():
        yield link.resolve()


def get_installation(executable: Path) -> Path:
    """Return the directory that an interpreter is installed in, which mostly is that above `bin`."""
    folder = executable.parent
    return folder.parent if folder.name == "bin" else folder


def is_closed(directory: Path) -> bool:
    """Return True if this user may not enter the directory, or may not see whether there is one."""
    try:
        return directory.is_dir() and not os.access(directory, os.X_OK)
    except PermissionError:
        return True


def compute_fingerprint(directories: Iterable[Path]) -> str:
    """Return a hash of the state of these directories, of the system's packages and of the kernel.

    It is cheap: of file times and sizes, not of contents.
    """
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

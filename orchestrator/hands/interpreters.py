"""Which interpreter installations a Python environment leans on."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

_MAX_HOPS = 16


def own_python() -> Path:
    """Our own interpreter, which every sandbox holds at its own path; not that of the environment around it."""
    return Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"


def prefixes(directory: Path) -> tuple[Path, ...]:
    """The installations that the virtual environment `directory` needs to start, nearest first; () if it is none.

    Follows `home =` of `pyvenv.cfg` and every hop of the symbolic links of `bin/python`, through environments that
    were made from other environments.
    """
    found: dict[Path, None] = {}
    todo = [directory]
    while todo and len(found) < _MAX_HOPS:
        for prefix in _needed_by(todo.pop()):
            if prefix not in found and prefix != directory:
                found[prefix] = None
                todo.append(prefix)
    return tuple(found)


def is_environment(directory: Path) -> bool:
    """Whether the directory is a virtual environment."""
    return (directory / "pyvenv.cfg").is_file()


def _needed_by(directory: Path) -> Iterator[Path]:
    if not is_environment(directory):
        return
    home = _home(directory / "pyvenv.cfg")
    if home is not None:
        yield _prefix(home / "python")
        yield _prefix((home / "python").resolve())
    for hop in _hops(directory / "bin" / "python"):
        yield _prefix(hop)


def _home(config: Path) -> Path | None:
    for line in config.read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home" and Path(value.strip()).is_absolute():
            return Path(value.strip())
    return None


def _hops(link: Path) -> Iterator[Path]:
    """Every file on the way from a symbolic link to what it finally names."""
    hop = link
    for _ in range(_MAX_HOPS):
        if not hop.is_symlink():
            break
        hop = Path(os.path.normpath(hop.parent / hop.readlink()))
        yield hop
    if link.exists():
        yield link.resolve()


def _prefix(executable: Path) -> Path:
    folder = executable.parent
    return folder.parent if folder.name == "bin" else folder

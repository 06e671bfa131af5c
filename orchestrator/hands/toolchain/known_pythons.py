"""The Python installations that are found from the user's side, whatever an environment in the repository says.

A virtual environment names the installation that it needs. One that lies in the checkout, or was made by `deps` or
`setup`, may have been written by strangers: what it names is only followed where the user has it anyway.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from orchestrator.hands.sandbox.backend import PACKAGE_STORES, HostPaths, is_system_folder
from orchestrator.hands.toolchain.interpreters import follow_links, get_installation

_BELOW_HOME = (
    *(".pyenv/versions", ".local/share/uv/python", ".local/share/mise/installs", ".local/share/rtx/installs"),
    *(".asdf/installs", ".rye/py", ".conda/envs", ".local/share/hatch/pythons"),
)
_CONDA = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", "miniconda", "anaconda")
_NAMED = {
    "PYENV_ROOT": "versions",
    "UV_PYTHON_INSTALL_DIR": "",
    "XDG_DATA_HOME": "uv/python",
    "MISE_DATA_DIR": "installs",
    "ASDF_DATA_DIR": "installs",
    "MAMBA_ROOT_PREFIX": "envs",
}
"""Variables of version managers, each with where installations lie below what it names."""
_SYSTEM = Path("/opt")


@dataclass(frozen=True)
class KnownPythons:
    """Installations that the user has: exactly those of `prefixes`, and whatever lies below `roots`."""

    prefixes: frozenset[Path]
    roots: tuple[Path, ...]

    def has_installation(self, prefix: Path) -> bool:
        """Return True if the installation is one of the user's; one in a directory for all users must be complete."""
        path = Path(os.path.normpath(prefix))
        if path in self.prefixes:
            return True
        if any(root in path.parents for root in self.roots):
            return True
        return _SYSTEM in path.parents and _has_standard_library(path)


def find_known_pythons(host_paths: HostPaths, environ: Mapping[str, str]) -> KnownPythons:
    """Look where the user's PATH, version managers and conda keep Python; never inside the repository or our state."""
    conda = [Path(environ[name]) for name in ("CONDA_PREFIX", "MAMBA_ROOT_PREFIX") if environ.get(name)]
    if environ.get("CONDA_EXE"):
        conda.append(Path(environ["CONDA_EXE"]).parent.parent)
    conda += [host_paths.home / name for name in _CONDA]
    roots = [host_paths.home / name for name in _BELOW_HOME]
    roots += [Path(environ[name], below) for name, below in _NAMED.items() if environ.get(name)]
    roots += [prefix / "envs" for prefix in conda]
    prefixes = {Path(sys.base_prefix), *conda, *_find_on_path(host_paths, environ)}
    is_outside = _OutsideCheck(host_paths)
    known = frozenset(Path(os.path.normpath(prefix)) for prefix in prefixes if is_outside(prefix))
    return KnownPythons(known, (*PACKAGE_STORES, *(Path(os.path.normpath(root)) for root in roots if is_outside(root))))


def is_complete_python(prefix: Path) -> bool:
    """Return True if the directory holds a whole Python with its standard library, or an environment made from one."""
    return (prefix / "pyvenv.cfg").is_file() or _has_standard_library(prefix)


def _has_standard_library(prefix: Path) -> bool:
    folders = (*_find_below(prefix / "lib", "python3*"), *_find_below(prefix / "lib", "pypy3*"))
    return any(os.access(folder / "os.py", os.R_OK) for folder in folders)


def _find_below(directory: Path, pattern: str) -> list[Path]:
    """Return what matches in a directory, sorted; nothing if we may not read it, as some of another user's PATH."""
    return sorted(directory.glob(pattern)) if os.access(directory, os.R_OK | os.X_OK) else []


def _find_on_path(host_paths: HostPaths, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the installations of the interpreters on PATH, by every link on the way to them that lies outside."""
    is_outside = _OutsideCheck(host_paths)
    for name in dict.fromkeys(environ.get("PATH", "").split(os.pathsep)):
        directory = Path(name)
        if not directory.is_absolute() or is_system_folder(directory) or not is_outside(directory):
            continue
        for program in _find_below(directory, "python*"):
            if os.access(program, os.X_OK) and program.is_file():
                links = takewhile(is_outside, follow_links(program))
                yield from map(get_installation, (program, *links))


class _OutsideCheck:
    """Recognizes places outside the checkout and our state, as written and with links resolved."""

    def __init__(self, host_paths: HostPaths) -> None:
        repository, state = host_paths.repository, host_paths.state
        self._own_folders = frozenset((repository, repository.resolve(), state, state.resolve()))

    def __call__(self, path: Path) -> bool:
        if not path.is_absolute():
            return False
        return not self._is_own(Path(os.path.normpath(path))) and not self._is_own(Path(os.path.realpath(path)))

    def _is_own(self, path: Path) -> bool:
        return any(map(path.is_relative_to, self._own_folders))

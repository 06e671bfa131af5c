"""Find the Python installations that the user himself has: on PATH, and where version managers keep them.

The repository and what was installed for it have no say, so a `pyvenv.cfg` of theirs can name nothing else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.hands.interpreters import find_needed_prefixes, list_prefixes_of_program, own_python
from orchestrator.hands.places import Surroundings

_MANAGED = (
    (".pyenv", "versions"),
    (".local", "share", "uv", "python"),
    (".asdf", "installs", "python"),
    (".local", "share", "mise", "installs", "python"),
    (".local", "share", "hatch", "env", "virtual", ".pythons"),
    (".rye", "py"),
    *((name, "envs") for name in ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba")),
)
"""Directories of the home directory that hold one installation each in their members."""

_CONDA = ("miniconda3", "anaconda3", "miniforge3", "mambaforge")
_SYSTEM_WIDE = ("/opt/conda/envs", "/opt/python", "/opt/hostedtoolcache/Python")
_VARIABLES = {"PYENV_ROOT": ("versions",), "UV_PYTHON_INSTALL_DIR": (), "ASDF_DATA_DIR": ("installs", "python")}


@dataclass(frozen=True)
class InstalledPythons:
    """Prefixes of installations, as found and with links resolved."""

    prefixes: frozenset[Path]

    def contains(self, prefix: Path) -> bool:
        """Return True if the prefix is one of them, also by another path."""
        return prefix in self.prefixes or prefix.resolve() in self.prefixes


def find_installed_pythons(around: Surroundings, environ: Mapping[str, str]) -> InstalledPythons:
    """Return the installations found from the user's side; nothing below the repository or our state counts."""
    found = {Path("/opt/conda"), own_python().parent.parent, *(around.home / name for name in _CONDA)}
    found.update(_find_managed(around.home, environ))
    found.update(_find_on_path(around, environ))
    existing = {prefix for prefix in found if prefix.is_dir() and not _is_untrusted(prefix, around)}
    return InstalledPythons(frozenset(existing | {prefix.resolve() for prefix in existing}))


def _find_managed(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    folders = [home.joinpath(*parts) for parts in _MANAGED]
    folders += [Path(environ[name]).joinpath(*rest) for name, rest in _VARIABLES.items() if environ.get(name)]
    folders += map(Path, _SYSTEM_WIDE)
    for folder in folders:
        if folder.is_absolute() and folder.is_dir():
            for member in folder.iterdir():
                yield member
                yield from member.iterdir() if folder.name == "Python" else ()  # VERSION/ARCHITECTURE


def _find_on_path(around: Surroundings, environ: Mapping[str, str]) -> Iterator[Path]:
    for name in environ.get("PATH", "").split(":"):
        folder = Path(name)
        if not folder.is_absolute() or not folder.is_dir() or _is_untrusted(folder, around):
            continue
        yield from find_needed_prefixes(folder.parent)
        for program in folder.glob("python*"):
            yield from list_prefixes_of_program(program)


def _is_untrusted(place: Path, around: Surroundings) -> bool:
    """Return True for places that the repository, a command or an installed package may have written."""
    filled = (around.repository, around.repository.resolve(), around.state, around.state.resolve())
    return any(path.is_relative_to(folder) for path in (place, place.resolve()) for folder in filled)

"""Which host directories a sandbox gets read-only, and what its PATH is."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import normpath
from pathlib import Path

from orchestrator.errors import UsageProblem
from orchestrator.hands.policy import GrantedFolder
from orchestrator.hands.sandbox.host_paths import PACKAGE_STORES, HostPaths, is_system_folder
from orchestrator.hands.toolchain.interpreters import find_base_installations, is_virtual_environment
from orchestrator.hands.toolchain.known_pythons import KnownPythons, find_known_pythons, is_complete_python

_LAST = ("/usr/local/bin", "/usr/bin", "/bin")
_INTERPRETER_PARTS = ("bin", "lib", "lib64", "include", "libexec")


@dataclass(frozen=True)
class ToolChain:
    """Directories to bind read-only at their own path, places below them to hide, and PATH in order.

    `unbound` are installations that environments in the checkout name, and the user has not: each by the environment.
    """

    read_only: tuple[Path, ...]
    masked: tuple[Path, ...]
    path: tuple[str, ...]
    virtual_env: str | None
    unbound: Mapping[Path, Path] = field(default_factory=dict)


def resolve_tool_chain(
    given: Sequence[GrantedFolder], around: HostPaths, shared: Mapping[str, Path], environ: Mapping[str, str]
) -> ToolChain:
    """Return the tool chain for the granted folders, the repository's shared paths, and our own Python.

    `shared` are paths relative to the repository, each with the directory below which it lies. The user's
    `VIRTUAL_ENV` counts as given last.

    Raises:
        UsageProblem: a given directory is missing or may not be bound.
    """
    chosen = _Chosen(around, find_known_pythons(around, environ))
    for one in given:
        chosen.add_folder(_locate(one, around))
    active = environ.get("VIRTUAL_ENV")
    if (
        active
        and Path(active).is_absolute()
        and Path(active).is_dir()
        and chosen.can_add_environment(Path(active), shared)
    ):
        chosen.add_folder(Path(active))
    chosen.add_shared_paths(shared)
    chosen.add_interpreter(Path(sys.base_prefix))
    chosen.path[str(Path(sys.base_prefix) / "bin")] = None
    return chosen.build_tool_chain()


def _locate(one: GrantedFolder, around: HostPaths) -> Path:
    """Return the absolute path, links kept, of a directory the user gave."""
    text = one.path
    if text == "~" or text.startswith("~/"):
        text = str(around.home) + text[1:]
    directory = Path(normpath(around.repository / text))
    if not directory.is_dir():
        if directory.exists():
            what = "is not a directory"
        else:
            what = "does not exist"
        told = f"{directory}, given as {one.path!r} in {one.origin}, {what}; correct or remove it there."
        raise UsageProblem(told, ("env", one.path))
    objection = around.find_bind_objection(directory)
    if objection:
        told = (
            f"{directory}, given as {one.path!r} in {one.origin}, is never bound into a sandbox: {objection}. "
            "Name the directory of the one tool chain that is needed instead."
        )
        raise UsageProblem(told, ("env", one.path))
    return directory


@dataclass
class _Chosen:
    host_paths: HostPaths
    known: KnownPythons
    read_only: dict[Path, None] = field(default_factory=dict)
    path: dict[str, None] = field(default_factory=dict)
    virtual_env: str | None = None
    unbound: dict[Path, Path] = field(default_factory=dict)

    def can_add_environment(self, directory: Path, shared: Iterable[str]) -> bool:
        """Return True if an environment that was not asked for may be added."""
        if not self._is_ours(directory):
            return self.host_paths.find_bind_objection(directory) is None
        return any(directory.is_relative_to(self.host_paths.repository / name) for name in shared)

    def add_folder(self, directory: Path) -> None:
        """Bind a directory and put its programs on PATH. One inside the repository stands in the workspace anyway."""
        if not self._is_ours(directory):
            self._bind(directory)
        self._lean_on(directory)
        self._search(_programs(directory))

    def add_shared_paths(self, shared: Mapping[str, Path]) -> None:
        """Serve what the repository borrows: interpreters that its environments need, programs at the usual places.

        Whoever wrote the environments, they name interpreters that the user has, and nothing else of the host.
        """
        for name, base in sorted(shared.items()):
            self._lean_on(self.host_paths.repository / name, base / name)
        for name, programs in ((".venv", "bin"), ("venv", "bin"), ("node_modules", ".bin")):
            if name in shared and (shared[name] / name / programs).is_dir():
                self.path[str(self.host_paths.repository / name / programs)] = None

    def add_interpreter(self, prefix: Path) -> None:
        """Bind an interpreter's installation, or the parts of it that may be bound."""
        if self.host_paths.find_bind_objection(prefix) is None:
            self._bind(prefix)
        else:
            self._bind_parts(prefix, _INTERPRETER_PARTS)

    def _need_known(self, prefix: Path, environment: Path) -> None:
        """Bind an installation that an environment of unknown origin names, if the user has it.

        Where it shares its directory with other things, as in `~/.local`, only its parts are bound; where it is but a
        link to another one, the directory of the link.
        """
        if is_system_folder(prefix) or any(prefix.is_relative_to(bound) for bound in self.read_only):
            return
        if not self.known.has_installation(prefix):
            self.unbound[prefix] = environment
        elif not is_complete_python(prefix):
            self._bind_parts(prefix, ("bin",))
        elif any(place.is_relative_to(prefix) for place in self.host_paths.list_credential_paths()):
            self._bind_parts(prefix, _INTERPRETER_PARTS)
        else:
            self.add_interpreter(prefix)

    def _bind_parts(self, prefix: Path, names: Iterable[str]) -> None:
        for part in (prefix / name for name in names):
            if part.is_dir() and self.host_paths.find_bind_objection(part) is None:
                self._bind(part)

    def _is_ours(self, directory: Path) -> bool:
        return directory.is_relative_to(self.host_paths.repository)

    def _is_users(self, environment: Path) -> bool:
        """Return True for an environment that lies outside the checkout, where only the user can have put it."""
        here = self.host_paths.repository.resolve()
        return not self._is_ours(environment) and not environment.resolve().is_relative_to(here)

    def _lean_on(self, directory: Path, source: Path | None = None) -> None:
        """Bind the installations that an environment needs; `source` is its place on the host, if elsewhere."""
        needed = [
            prefix
            for prefix in find_base_installations(source or directory)
            if prefix.is_dir() and not self._is_ours(prefix)
        ]
        is_trusted = source is None and self._is_users(directory)
        for prefix in needed:
            if is_trusted:
                self.add_interpreter(prefix)
            else:
                self._need_known(prefix, directory)
        if is_virtual_environment(source or directory) and self.virtual_env is None:
            self.virtual_env = str(directory)

    def _bind(self, directory: Path) -> None:
        for place in dict.fromkeys((directory, directory.resolve())):
            store = next((s for s in PACKAGE_STORES if place.is_relative_to(s) and s.is_dir()), place)
            if not is_system_folder(store):
                self.read_only[store] = None

    def _search(self, directories: Iterable[Path]) -> None:
        self.path.update(dict.fromkeys(str(d) for d in directories if d.is_dir()))

    def build_tool_chain(self) -> ToolChain:
        """Return the tool chain, without directories that lie in others."""
        outer = tuple(d for d in sorted(self.read_only) if not any(p in self.read_only for p in d.parents))
        masked = dict.fromkeys(m for d in outer for m in self.host_paths.find_credentials_below(d))
        path = tuple(p for p in self.path if p not in _LAST) + _LAST
        return ToolChain(outer, tuple(masked), path, self.virtual_env, dict(sorted(self.unbound.items())))


def _programs(directory: Path) -> list[Path]:
    places = [directory / "bin", directory / "node_modules" / ".bin"]
    if _holds_programs(directory):
        return [*places, directory]
    return places


def _holds_programs(directory: Path) -> bool:
    with os.scandir(directory) as entries:
        return any(e.is_file() and os.access(e.path, os.X_OK) for e in entries)

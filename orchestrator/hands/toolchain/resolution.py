"""Resolves the host directories that a sandbox gets read-only, and its PATH."""

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os.path import normpath
from pathlib import Path

from orchestrator.errors import UsageProblem
from orchestrator.hands.policy import GrantedFolder, SandboxGrant
from orchestrator.hands.sandbox.backend import PACKAGE_STORES, HostPaths, is_system_folder
from orchestrator.hands.toolchain.interpreters import find_base_installations, is_closed, is_virtual_environment
from orchestrator.hands.toolchain.known_pythons import KnownPythons, find_known_pythons, is_complete_python

_SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin")
_INTERPRETER_PARTS = ("bin", "lib", "lib64", "include", "libexec")


@dataclass(frozen=True)
class ToolChain:
    """Directories to bind read-only at their own path, places below them to hide, and PATH in order.

    `unbound` are installations that environments in the checkout name but the user does not have, each with its
    environment; `closed` are those that the user may not enter.
    """

    read_only: tuple[Path, ...]
    masked: tuple[Path, ...]
    path: tuple[str, ...]
    virtual_env: str | None
    unbound: Mapping[Path, Path] = field(default_factory=dict)
    closed: Mapping[Path, Path] = field(default_factory=dict)


def resolve_tool_chain(
    grant: SandboxGrant, host_paths: HostPaths, shared: Mapping[str, Path], environ: Mapping[str, str]
) -> ToolChain:
    """Return the tool chain for the granted folders, the repository's shared paths, and our own Python.

    `shared` are paths relative to the repository, each with the directory below which it lies. On PATH come first the
    `read_only` folders of the grant, then what was installed for the project, the user's `VIRTUAL_ENV`, the
    environments of the checkout, our own Python, the system, and the `tools` of the grant. A `VIRTUAL_ENV` that is only
    the one in which Orchestrate itself is installed comes after those of the checkout.

    Raises:
        UsageProblem: a given directory is missing or may not be bound.
    """
    builder = _ToolChainBuilder(host_paths, find_known_pythons(host_paths, environ))
    for folder in grant.read_only:
        builder.add_folder(_locate_folder(folder, host_paths))
    lent = {name: base for name, base in shared.items() if name in grant.lent}
    builder.add_shared_paths(lent)
    active = Path(environ.get("VIRTUAL_ENV", ""))
    is_usable = active.is_absolute() and active.is_dir() and builder.can_add_environment(active, shared)
    is_own = active == Path(sys.prefix)
    if is_usable and not is_own:
        builder.add_folder(active)
    builder.add_shared_paths(shared)
    if is_usable and is_own:
        builder.add_folder(active)
    builder.add_interpreter(Path(sys.base_prefix))
    builder.path[str(Path(sys.base_prefix) / "bin")] = None
    for folder in grant.tools:
        builder.add_tools(_locate_folder(folder, host_paths))
    return builder.build_tool_chain()


def _locate_folder(folder: GrantedFolder, host_paths: HostPaths) -> Path:
    """Return the absolute path, links kept, of a directory the user gave."""
    text = folder.path
    if text == "~" or text.startswith("~/"):
        text = str(host_paths.home) + text[1:]
    directory = Path(normpath(host_paths.repository / text))
    if not directory.is_dir():
        problem = "is not a directory" if directory.exists() else "does not exist"
        message = f"{directory}, given as {folder.path!r} in {folder.origin}, {problem}; correct or remove it there."
        raise UsageProblem(message, ("env", folder.path))
    objection = host_paths.find_bind_objection(directory)
    if objection:
        message = (
            f"{directory}, given as {folder.path!r} in {folder.origin}, is never bound into a sandbox: {objection}. "
            "Name the directory of the one tool chain that is needed instead."
        )
        raise UsageProblem(message, ("env", folder.path))
    return directory


@dataclass
class _ToolChainBuilder:
    """Collects the folders and the PATH of a tool chain."""

    host_paths: HostPaths
    known: KnownPythons
    read_only: dict[Path, None] = field(default_factory=dict)
    path: dict[str, None] = field(default_factory=dict)
    virtual_env: str | None = None
    unbound: dict[Path, Path] = field(default_factory=dict)
    closed: dict[Path, Path] = field(default_factory=dict)
    tool_path: dict[str, None] = field(default_factory=dict)

    def can_add_environment(self, directory: Path, shared: Iterable[str]) -> bool:
        """Return True if an environment that was not asked for may be added."""
        if not self._is_in_checkout(directory):
            return self.host_paths.find_bind_objection(directory) is None
        return any(directory.is_relative_to(self.host_paths.repository / name) for name in shared)

    def add_folder(self, directory: Path) -> None:
        """Bind a directory and put its programs on PATH. One inside the repository stands in the workspace anyway."""
        self._bind_with_interpreters(directory)
        if is_virtual_environment(directory) and self.virtual_env is None:
            self.virtual_env = str(directory)
        self.path.update(dict.fromkeys(map(str, _list_program_folders(directory))))

    def add_tools(self, directory: Path) -> None:
        """Bind a directory and put its programs last on PATH."""
        self._bind_with_interpreters(directory)
        self.tool_path.update(dict.fromkeys(map(str, _list_program_folders(directory))))

    def add_shared_paths(self, shared: Mapping[str, Path]) -> None:
        """Add the repository's borrowed paths: interpreters of its environments, programs at the usual places.

        Whoever wrote the environments, only interpreters that the user has are bound, and nothing else of the host.
        """
        for name, base in sorted(shared.items()):
            directory = self.host_paths.repository / name
            self._bind_base_installations(directory, base / name)
            if is_virtual_environment(base / name) and self.virtual_env is None:
                self.virtual_env = str(directory)
        for name, programs in ((".venv", "bin"), ("venv", "bin"), ("node_modules", ".bin")):
            if name in shared and (shared[name] / name / programs).is_dir():
                self.path[str(self.host_paths.repository / name / programs)] = None

    def add_interpreter(self, prefix: Path) -> None:
        """Bind an interpreter's installation, or the parts of it that may be bound."""
        if self.host_paths.find_bind_objection(prefix) is None:
            self._bind_folder(prefix)
        else:
            self._bind_parts(prefix, _INTERPRETER_PARTS)

    def _bind_known(self, prefix: Path, environment: Path) -> None:
        """Bind an installation that an environment of unknown origin names, if the user has it.

        Where it shares its directory with other things, as in `~/.local`, only its parts are bound; where it is but a
        link to another one, the directory of the link.
        """
        if is_system_folder(prefix) or any(map(prefix.is_relative_to, self.read_only)):
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
                self._bind_folder(part)

    def _is_in_checkout(self, directory: Path) -> bool:
        return directory.is_relative_to(self.host_paths.repository)

    def _is_outside_checkout(self, environment: Path) -> bool:
        """Return True for an environment that lies outside the checkout, where only the user can have put it."""
        checkout = self.host_paths.repository.resolve()
        return not self._is_in_checkout(environment) and not environment.resolve().is_relative_to(checkout)

    def _bind_with_interpreters(self, directory: Path) -> None:
        if not self._is_in_checkout(directory):
            self._bind_folder(directory)
        self._bind_base_installations(directory)

    def _bind_base_installations(self, directory: Path, source: Path | None = None) -> None:
        """Bind the installations that an environment needs; `source` is its place on the host, if elsewhere."""
        is_trusted = source is None and self._is_outside_checkout(directory)
        for prefix in find_base_installations(source or directory):
            if self._is_in_checkout(prefix):
                continue
            if is_closed(prefix):
                self.closed[prefix] = directory
            elif prefix.is_dir() and is_trusted:
                self.add_interpreter(prefix)
            elif prefix.is_dir():
                self._bind_known(prefix, directory)

    def _bind_folder(self, directory: Path) -> None:
        for path in dict.fromkeys((directory, directory.resolve())):
            store = next((s for s in PACKAGE_STORES if path.is_relative_to(s) and s.is_dir()), path)
            if not is_system_folder(store):
                self.read_only[store] = None

    def build_tool_chain(self) -> ToolChain:
        """Return the tool chain, without directories that lie in others."""
        outer = tuple(folder for folder in sorted(self.read_only) if self.read_only.keys().isdisjoint(folder.parents))
        masked: dict[Path, None] = {}
        for folder in outer:
            masked.update(dict.fromkeys(self.host_paths.find_credentials_below(folder)))
        path = tuple(name for name in self.path if name not in _SYSTEM) + _SYSTEM
        path += tuple(name for name in self.tool_path if name not in path)
        unbound, closed = (dict(sorted(one.items())) for one in (self.unbound, self.closed))
        return ToolChain(outer, tuple(masked), path, self.virtual_env, unbound, closed)


def _list_program_folders(directory: Path) -> list[Path]:
    folders = [directory / "bin", directory / "node_modules" / ".bin"]
    folders = list(filter(Path.is_dir, folders))
    return [*folders, directory] if _holds_programs(directory) else folders


def _holds_programs(directory: Path) -> bool:
    with os.scandir(directory) as entries:
        return any(e.is_file() and os.access(e.path, os.X_OK) for e in entries)

"""The directories of the host that may be bound into a sandbox, and those that never are."""

from dataclasses import dataclass
from os.path import normpath
from pathlib import Path

from orchestrator.domain.paths.credentials import CREDENTIAL_PATHS

SYSTEM_FOLDERS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Top-level directories that every sandbox has, as on the host: bound read-only, or the same symbolic links."""

PACKAGE_STORES = (Path("/nix/store"), Path("/gnu/store"), Path("/home/linuxbrew/.linuxbrew"))
"""Package stores whose members link to each other: one member needs the whole store."""

WORKTREES_FOLDER = "worktrees"
"""The directory below our state in which all worktrees lie."""

_NEVER_BELOW = tuple(map(Path, ("/proc", "/sys", "/dev", "/run", "/var/run", "/boot", "/etc")))
_NEVER_ITSELF = tuple(map(Path, ("/", "/tmp", "/var", "/var/tmp", "/var/lib")))


@dataclass(frozen=True)
class HostPaths:
    """The host directories around the work: the user's checkout, home, and our own state. Absolute paths."""

    repository: Path
    home: Path
    state: Path

    @property
    def own_folders(self) -> tuple[Path, Path]:
        """The directories that no program is taken from: what lies there may be anybody's."""
        return self.repository, self.state

    def find_bind_objection(self, directory: Path) -> str | None:
        """Return why `directory` may not be bound, as written or with links resolved; None if it may be."""
        return self._find_objection(Path(normpath(directory))) or self._find_objection(directory.resolve())

    def _find_objection(self, directory: Path) -> str | None:
        if directory in _NEVER_ITSELF or any(map(directory.is_relative_to, _NEVER_BELOW)):
            return "it belongs to the host's system, which a sandbox has its own of"
        return self._find_private_objection(directory) or self._find_own_objection(directory)

    def _find_private_objection(self, directory: Path) -> str | None:
        if self.home.is_relative_to(directory) or self.home.resolve().is_relative_to(directory):
            return "it is or contains your home directory"
        found = next(filter(directory.is_relative_to, self.list_credential_paths()), None)
        return f"it belongs to {found}, where credentials are kept" if found else None

    def _find_own_objection(self, directory: Path) -> str | None:
        if self.repository.is_relative_to(directory) or self.repository.resolve().is_relative_to(directory):
            return "it is or contains your checkout, in whose place a workspace stands"
        state = self.state.resolve()
        if state.is_relative_to(directory) or directory.is_relative_to(state):
            return "it touches the state directory of Orchestrate"
        return None

    def list_credential_paths(self) -> tuple[Path, ...]:
        """Return the known places of credentials in the home directory, as written and resolved, existing or not."""
        homes = dict.fromkeys((self.home, self.home.resolve()))
        return tuple(home / name for home in homes for name in CREDENTIAL_PATHS)

    def find_credentials_below(self, directory: Path) -> tuple[Path, ...]:
        """Return the existing places of credentials below `directory`."""
        return tuple(c for c in self.list_credential_paths() if c.is_relative_to(directory) and c.exists())


def is_system_folder(directory: Path) -> bool:
    """Return True if every sandbox has the directory anyway, as part of the system."""
    return len(directory.parts) > 1 and directory.parts[1] in SYSTEM_FOLDERS

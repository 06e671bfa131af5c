"""Which living processes may hold a lock file of a repository, as far as the kernel tells us."""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_WITHOUT_REF_LOCKS = frozenset(
    {
        *("add", "apply", "blame", "cat-file", "check-attr", "check-ignore", "checkout-index", "commit-tree"),
        *("credential-cache--daemon", "daemon", "diff", "diff-files", "diff-index", "diff-tree", "for-each-ref"),
        *("fsmonitor--daemon", "grep", "hash-object", "help", "log", "ls-files", "ls-remote", "ls-tree", "merge-base"),
        *("merge-file", "merge-tree", "mktree", "pack-objects", "read-tree", "rev-list", "rev-parse", "shortlog"),
        *("show", "status", "update-index", "upload-pack", "var", "version", "write-tree"),
    }
)
"""Commands of git that hold no lock of a ref: some take minutes, some stay for hours behind a pager or an editor."""
_OURS = "used by orchestrate"
_WITH_VALUE = frozenset({"-C", "-c"})
_GIT_DIR = b"GIT_DIR="


@dataclass(frozen=True, order=True)
class LockingProcess:
    """A living process: `started` is in ticks since the machine started, so that a number that was reused differs."""

    process: int
    started: int
    command: str

    def __str__(self) -> str:
        return f"process {self.process} ({self.command})"


@dataclass(frozen=True)
class RepositoryDirectories:
    """The directories in which a git process belongs to one repository: its git directory and its checkouts."""

    directories: tuple[str, ...]

    def contains_directory(self, directory: str) -> bool:
        """Return True if a directory is one of them or lies below one."""
        return any(directory == one or directory.startswith(f"{one}/") for one in self.directories)


def find_repository_directories(git_dir: Path) -> RepositoryDirectories:
    """Return where processes of a repository with this shared git directory stand.

    Not in our own worktrees: commands of workers stand there, which reach no ref, and our git names its git directory.
    """
    found = [git_dir, *([git_dir.parent] if git_dir.name == ".git" else [])]
    for pointer in git_dir.glob("worktrees/*/gitdir"):
        with suppress(OSError, ValueError):
            if not _is_ours(pointer.parent):
                found.append(Path(pointer.read_text().rstrip("\n")).parent)
    return RepositoryDirectories(tuple(dict.fromkeys(os.path.realpath(place) for place in found)))


def _is_ours(admin: Path) -> bool:
    with suppress(OSError):
        return (admin / "locked").read_text("utf-8", "replace").startswith(_OURS)
    return False


def find_locking_processes(reach: RepositoryDirectories, locks: Collection[Path]) -> Iterator[LockingProcess]:
    """Yield the processes that have one of the locks open, or are a git that may write and stands in the repository.

    Git closes a lock of a ref before it takes its change into force, so an open file alone does not tell. Other users'
    processes and those of other machines are not seen. Blocks.
    """
    wanted = set()
    for lock in locks:
        wanted.add(os.path.realpath(lock.parent) + f"/{lock.name}")
    with suppress(OSError):
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and (holder := _read_process(entry, reach, wanted)):
                yield holder


def _read_process(entry: Path, reach: RepositoryDirectories, wanted: Collection[str]) -> LockingProcess | None:
    with suppress(OSError, ValueError):
        words = (entry / "cmdline").read_bytes().split(b"\0")
        if not (_writes_refs(words) and _stands_in(entry, reach)) and not _has_open(entry, wanted):
            return None
        started = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[19])
        shown = b" ".join(words[:3]).decode("utf-8", "replace").strip()
        return LockingProcess(int(entry.name), started, shown[:80])
    return None


def _writes_refs(words: Sequence[bytes]) -> bool:
    """Return True for a git command that may hold a lock of a ref."""
    program, *rest = (os.fsdecode(word) for word in words)
    name = program.rpartition("/")[2]
    if name.startswith("git-"):
        return name.removeprefix("git-") not in _WITHOUT_REF_LOCKS
    return name == "git" and _find_verb(rest) not in _WITHOUT_REF_LOCKS


def _find_verb(words: Sequence[str]) -> str:
    waits = False
    for word in words:
        if not waits and not word.startswith("-"):
            return word
        waits = not waits and word in _WITH_VALUE
    return ""


def _stands_in(entry: Path, reach: RepositoryDirectories) -> bool:
    if reach.contains_directory(str((entry / "cwd").readlink())):
        return True
    for variable in (entry / "environ").read_bytes().split(b"\0"):
        if variable.startswith(_GIT_DIR):
            return reach.contains_directory(os.path.realpath(os.fsdecode(variable.removeprefix(_GIT_DIR))))
    return False


def _has_open(entry: Path, wanted: Collection[str]) -> bool:
    for descriptor in (entry / "fd").iterdir():
        with suppress(FileNotFoundError):
            if str(descriptor.readlink()) in wanted:
                return True
    return False

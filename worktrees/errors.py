"""Errors of git, told apart by what the caller can do about it."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from shlex import quote

_SHOWN_STDERR = 2000


class GitError(Exception):
    """Git, or something git needs, refused.

    `args_` is the command line after `git`, empty when no command was run; `exit_code` is None in that case.
    """

    def __init__(self, message: str, args_: Sequence[str] = (), exit_code: int | None = None, stderr: str = "") -> None:
        super().__init__(message)
        self.args_ = tuple(args_)
        self.exit_code = exit_code
        self.stderr = stderr

    @classmethod
    def from_exit(cls, args: Sequence[str], exit_code: int, stderr: str) -> "GitError":
        """Return the error for a command that ended with an exit code nobody expected."""
        verb = next((arg for before, arg in pairwise(("", *args)) if "-c" not in (before, arg)), "")
        command = f"git {verb}{' …' if len(args) > 1 else ''}"
        said = stderr.strip()[-_SHOWN_STDERR:] or "no message"
        return cls(f"{command} failed ({exit_code}): {said}", args, exit_code, stderr)


class NotARepository(GitError):
    """The path lies in no git repository whose files can be worked on; the message says how to mend it."""


class NoCommit(GitError):
    """The repository has no commit to start from."""


class RefMoved(GitError):
    """A compare-and-swap was lost: the ref did not stand where the caller thought."""


class CommitNotSigned(GitError):
    """A commit could not be signed with the user's key; the message says how to mend it."""


class LockedRepository(GitError):
    """A lock file keeps git from its work: a process holds it, or left it when it died.

    `lock` is the file's path, `holders` name the living processes that may hold it, as far as they can be seen.
    """

    def __init__(
        self,
        message: str,
        lock: str,
        holders: Sequence[str] = (),
        args_: Sequence[str] = (),
        exit_code: int | None = None,
        stderr: str = "",
    ) -> None:
        super().__init__(message, args_, exit_code, stderr)
        self.lock = lock
        self.holders = tuple(holders)

    @classmethod
    def for_held_lock(
        cls,
        lock: Path,
        holders: Iterable[object],
        args_: Sequence[str] = (),
        exit_code: int | None = None,
        stderr: str = "",
    ) -> "LockedRepository":
        """Return the error for a lock file that stays, with a command that mends it."""
        named = tuple(map(str, holders))
        if named:
            told = f"{lock} is locked, probably by {', '.join(named)}: wait for its end, or end it, and go on"
        else:
            left = "no process is seen that holds it, so one that died has probably left it"
            told = f"{lock} is in the way, and {left}: if no git is at work there, {_format_removal(lock)} and go on"
        return cls(told, str(lock), named, args_, exit_code, stderr)

    @classmethod
    def for_stuck_lock(cls, lock: Path, reason: str) -> "LockedRepository":
        """Return the error for a dead process's lock file that we may not remove."""
        told = (
            f"{lock} was left by a process that died and cannot be removed ({reason}): "
            f"{_format_removal(lock)} and go on"
        )
        return cls(told, str(lock))


def _format_removal(lock: Path) -> str:
    return f"remove it (rm -- {quote(str(lock))})"


class SnapshotTooLarge(GitError):
    """A worktree holds more changed files, or more bytes in them, than a snapshot may have."""


class GitTimeout(GitError):
    """Git was at the files of a worktree for longer than any honest content takes it."""


class DirectoryNotPrivate(GitError):
    """A directory of ours can be entered or replaced by another user; the message says how to mend it."""


class LockTimeout(GitError):
    """Another process held a lock for longer than anybody waits for it; the message names it where that is known."""


class UnknownRemote(GitError):
    """The repository has no remote of this name."""


class PushRefused(GitError):
    """The remote would not take a push: its branch has moved on, or it does not allow it. The message is its own."""

"""What can go wrong with git, told apart by what the caller can do about it."""

from collections.abc import Sequence
from itertools import pairwise

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
    def failed(cls, args: Sequence[str], exit_code: int, stderr: str) -> "GitError":
        """The error for a command that ended with an exit code nobody expected."""
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


class TooManyFiles(GitError):
    """A worktree holds more changed files, or more bytes in them, than a snapshot may have."""


class TookTooLong(GitError):
    """Git was at the files of a worktree for longer than any honest content takes it."""


class DirectoryNotPrivate(GitError):
    """A directory of ours can be entered or replaced by another user; the message says how to mend it."""


class LockTimeout(GitError):
    """Another process held a lock for longer than anybody waits for it; the message names it where that is known."""


class UnknownRemote(GitError):
    """The repository has no remote of this name."""


class PushRefused(GitError):
    """The remote would not take a push: its branch has moved on, or it does not allow it. The message is its own."""

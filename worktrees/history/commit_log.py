"""The log of a commit, whole or of some paths, read from objects alone."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from worktrees.git import Git
from worktrees.history.plain_view import open_plain_view
from worktrees.object_store.object_ids import is_object_id

_MAX_BYTES = 4 * 1024 * 1024


class LoggedCommit(NamedTuple):
    """One commit of a log: its id, the author's date in seconds since 1970, its subject, the paths that it changed."""

    oid: str
    authored: int
    subject: str
    paths: tuple[str, ...]


async def read_log(git: Git, commit: str, count: int, paths: Sequence[str] = ()) -> tuple[LoggedCommit, ...]:
    """Return the newest commits of a history without merges; only those that changed one of `paths` if there are any.

    A history that is shallow ends early.

    Raises:
        GitError: the commit does not exist.
    """
    words = (
        *("log", "--no-merges", "--no-renames", "--name-only", "-z", f"--max-count={count}"),
        *("--format=%x01%H%x02%at%x02%<(400,trunc)%s", "--end-of-options", commit, "--", *paths),
    )
    async with open_plain_view(git) as view:
        listing = await view.run(*words, limit_bytes=_MAX_BYTES)
    found = []
    for record in listing.text.split("\x01")[1:]:
        head, *rest = record.split("\0")
        oid, _, told = head.partition("\x02")
        authored, _, subject = told.partition("\x02")
        changed = []
        for path in rest:
            if path.strip("\n"):
                changed.append(path.lstrip("\n"))
        if not is_object_id(oid):
            continue  # a subject that holds our marks
        seconds = int(authored) if authored.lstrip("-").isdigit() else 0
        found.append(LoggedCommit(oid, seconds, subject.rstrip(), tuple(changed)))
    return tuple(found)


def count_changes(commits: Sequence[LoggedCommit], most_paths: int) -> Counter[str]:
    """Return how many of the commits changed each path; those that changed more than `most_paths` do not count."""
    counted: Counter[str] = Counter()
    for commit in commits:
        if len(commit.paths) <= most_paths:
            counted.update(set(commit.paths))
    return counted

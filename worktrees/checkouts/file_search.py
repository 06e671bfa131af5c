"""Options of git for listing and searching files, and its answers read: pure, also used where git runs elsewhere."""

import re
from collections.abc import Iterable, Iterator
from itertools import repeat

from worktrees.errors import GitError
from worktrees.records import split_records

LIST_OPTIONS = ("-t", "--cached", "--deleted", "--others", "--exclude-standard")
"""How `ls-files` tells of the files that a snapshot would hold; its answer is for `parse_listing`."""
GLOB_ENVIRONMENT = {"GIT_LITERAL_PATHSPECS": "0"}
_GREP_LINE = 1000
_HIT = re.compile(rb"([^\0]+)\0(\d+)[\0:](.*)", re.DOTALL)


def build_search_options(pattern: str, limit: int) -> tuple[str, ...]:
    """Return the options of `grep` for a POSIX extended regular expression; its answer is for `parse_hits`."""
    return ("-n", "-I", "-E", "-z", "--untracked", "--no-textconv", f"--max-count={limit}", "-e", pattern)


def build_pathspecs(glob: str) -> tuple[str, ...]:
    """Return the arguments that limit a git command to the files that fit a glob; none for all files.

    `**` stands for any number of directories, `*`, `?` and `[…]` stay within one name. A glob without a slash fits
    names in any directory; one that fits a directory stands for everything below it.

    Raises:
        GitError: the glob leaves the worktree.
    """
    parts = []
    for part in glob.split("/"):
        if part not in ("", "."):
            parts.append(part)
    if ".." in parts or "\0" in glob:
        raise GitError(f"the glob {glob!r} leaves the worktree: give one relative to its top, without ..")
    if parts in ([], ["**"], ["*"]):
        return ()
    is_name = len(parts) == 1 and not glob.startswith(("/", "./")) and not glob.endswith("/")
    pattern = "/".join(["**", *parts] if is_name else parts)
    return (f":(top,glob){pattern}", f":(top,glob){pattern.removesuffix('/**')}/**")


def parse_listing(listing: str) -> tuple[str, ...]:
    """Return the files, tracked and untracked but not ignored, that are there; sorted."""
    tagged: dict[str, set[str]] = {"H": set(), "R": set(), "?": set()}
    for record in split_records(listing):
        tagged.setdefault(record[0], set()).add(record[2:])
    untracked = tagged["?"]
    found = set()
    for path in tagged["H"].difference(tagged["R"], *map(_list_parents, untracked)):
        if untracked.isdisjoint(_list_parents(path)):  # a link may stand where the tree has a directory
            found.add(path)
    for path in untracked:
        if not path.endswith("/"):
            found.add(path)
    return tuple(sorted(found))


def parse_hits(output: bytes, limit: int) -> Iterable[tuple[str, str, str]]:
    """Yield path, line number and text of the first `limit` matching lines; long texts are cut."""
    for line in filter(_HIT.match, output.split(b"\n")[:limit]):
        path, number, text = map(bytes.decode, _HIT.split(line, 1)[1:4], repeat("utf-8"), repeat("replace"))
        if len(text) > _GREP_LINE:
            text = f"{text[:_GREP_LINE]}…"
        yield path, number, text


def _list_parents(path: str) -> Iterator[str]:
    """Yield the directories a path lies in, nearest first, without the root."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path

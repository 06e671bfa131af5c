"""Which commit each line of a file comes from."""

from typing import NamedTuple

from worktrees.git import Git
from worktrees.history.plain_view import open_plain_view

_MAX_BYTES = 4 * 1024 * 1024


class LineOrigin(NamedTuple):
    """One line of a file: its number from 1, the commit it comes from, the author's date in seconds, and its text."""

    number: int
    oid: str
    authored: int
    text: str


async def read_line_origins(git: Git, commit: str, path: str, start: int, end: int) -> tuple[LineOrigin, ...]:
    """Return the origins of lines `start` to `end` of a file as it is in a commit.

    Raises:
        GitError: there is no such commit, no such file, or it has not so many lines.
    """
    words = ("blame", "--line-porcelain", "-L", f"{start},{end}", commit, "--", path)
    async with open_plain_view(git) as view:
        output = await view.run(*words, limit_bytes=_MAX_BYTES)
    found, oid, number, authored = [], "", 0, 0
    for line in output.text.split("\n"):
        if line.startswith("\t"):
            found.append(LineOrigin(number, oid, authored, line[1:]))
            oid = ""
        elif not oid:
            oid, number = _parse_head(line)
        elif line.startswith("author-time "):
            said = line.removeprefix("author-time ")
            authored = int(said) if said.lstrip("-").isdigit() else 0
    return tuple(found)


def _parse_head(line: str) -> tuple[str, int]:
    """Return the commit, and the line of the file as it is now, from the first line of a record."""
    words = line.split(" ")
    if len(words) < 3 or not words[2].isdigit():
        return "", 0
    return words[0], int(words[2])

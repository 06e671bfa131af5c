"""Reading many objects with one process."""

from collections.abc import Sequence
from typing import NamedTuple

from worktrees.errors import GitError
from worktrees.git import Git


class GitObject(NamedTuple):
    """A git object: its id, its type (`blob`, `tree`, `commit` or `tag`) and its content."""

    oid: str
    kind: str
    content: bytes


async def read_objects(git: Git, names: Sequence[bytes]) -> list[GitObject | None]:
    """Return the objects that revisions such as `<oid>` or `<tree>:<path>` name, in order.

    None for what does not exist.

    Raises:
        GitError: git's answer ended early, or a name is ambiguous.
    """
    if not names:
        return []
    answer = await git.run("cat-file", "--batch", "-z", "--buffer", stdin=b"\0".join((*names, b"")))
    return parse_objects(answer.stdout, names)


def parse_objects(answer: bytes, names: Sequence[bytes]) -> list[GitObject | None]:
    """Return the objects of an answer of `cat-file --batch`, as `read_objects` does.

    Raises:
        GitError: it ended early, or a name is ambiguous.
    """
    found: list[GitObject | None] = []
    position = 0
    for name in names:
        item, position = _parse_object(answer, position, name)
        found.append(item)
    return found


def _parse_object(answer: bytes, position: int, name: bytes) -> tuple[GitObject | None, int]:
    missing = name + b" missing\n"
    if answer.startswith(missing, position):
        return None, position + len(missing)
    end = answer.find(b"\n", position)
    header = answer[position:end].split(b" ") if end >= 0 else []
    if len(header) != 3 or not header[2].isdigit():
        shown = name.decode("utf-8", "replace")
        raise GitError(f"git cat-file gave no object for {shown!r}: {answer[position : position + 200]!r}")
    size = int(header[2])
    content = answer[end + 1 : end + 1 + size]
    if len(content) != size:
        raise GitError(f"git cat-file ended within {header[0].decode()}: the repository may be damaged, run git fsck")
    return GitObject(header[0].decode(), header[1].decode(), content), end + 1 + size + 1

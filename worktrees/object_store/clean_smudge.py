"""Many contents at once, as git stores what a checkout has at a path: one process for all that no attribute changes."""

import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from anyio import to_thread

from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.trees import read_blob, read_blobs, write_blob

_CHANGING = ("filter", "ident", "working-tree-encoding", "eol", "crlf")
"""Attributes that make the content of a checkout another one than that of the blob."""
_OFF = frozenset({"unspecified", "unset"})


async def write_filtered_blobs(git: Git, contents: Mapping[str, bytes]) -> dict[str, str]:
    """Store what a checkout has at some paths as git would, by the attributes of the git's work tree.

    Args:
        git: with a work tree; without one every content is stored byte for byte.
        contents: path → content.

    Returns:
        Path → id of the blob. Left out are those that git refuses, as they are not of the encoding that attributes say.
    """
    special = set()
    for path in await _special(git, contents):
        if git.work_tree:
            special.add(path)
    plain = [path for path in contents if path not in special]
    oids = dict(zip(plain, await _write_plain(git, [contents[path] for path in plain]), strict=True))
    filtered = {}
    for path in sorted(special):
        filtered[path] = await _write_filtered(git, path, contents[path])
    return oids | {path: oid for path, oid in filtered.items() if oid}


async def read_filtered_blobs(git: Git, oids: Mapping[str, str]) -> dict[str, bytes]:
    """What a checkout has at some paths when they hold these blobs: path → id in, path → content out.

    Raises:
        GitError: one of them does not exist or is no blob.
    """
    changing = await _with_attributes(git, list(oids)) if git.work_tree and oids else {}
    special = set()
    for path, names in changing.items():
        if names & set(_CHANGING):
            special.add(path)
    contents = await read_blobs(git, [oid for path, oid in oids.items() if path not in special])
    plain = {}
    for path, oid in oids.items():
        if path not in special:
            plain[path] = contents[oid]
    return plain | {path: await read_blob(git, oids[path], path) for path in special}


async def _special(git: Git, contents: Mapping[str, bytes]) -> Collection[str]:
    """The paths whose content git would not store as it is."""
    if not git.work_tree or not contents:
        return ()
    found = await _with_attributes(git, list(contents))
    return [path for path, names in found.items() if names & set(_CHANGING) or b"\r\n" in contents[path]]


async def _with_attributes(git: Git, paths: Sequence[str]) -> dict[str, set[str]]:
    """The paths that have any attribute which touches contents, with those attributes."""
    asked = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
    answer = (await git.run_text("check-attr", "-z", "--stdin", "text", *_CHANGING, stdin=asked)).split("\0")
    found: dict[str, set[str]] = {}
    for path, name, value in zip(answer[0::3], answer[1::3], answer[2::3], strict=False):
        if value not in _OFF:
            found.setdefault(path, set()).add(name)
    return found


async def _write_filtered(git: Git, path: str, content: bytes) -> str | None:
    """The blob; None if it is the content that git refuses, which it takes as it is."""
    try:
        return await write_blob(git, content, path)
    except GitError:
        await write_blob(git, content)
    return None


async def _write_plain(git: Git, contents: Sequence[bytes]) -> list[str]:
    if not contents:
        return []
    if len(contents) == 1:
        return [await write_blob(git, contents[0])]
    with tempfile.TemporaryDirectory(prefix="orchestrate-blobs-") as place:
        names = await to_thread.run_sync(_lay_out, Path(place), contents)
        asked = "".join(f"{name}\n" for name in names).encode()
        return (await git.run_text("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=asked)).splitlines()


def _lay_out(place: Path, contents: Sequence[bytes]) -> list[str]:
    for number, content in enumerate(contents):
        (place / str(number)).write_bytes(content)
    return [f"{place}/{number}" for number in range(len(contents))]

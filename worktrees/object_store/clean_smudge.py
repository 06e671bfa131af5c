"""Many contents at once, as git stores what a checkout has at a path: one process for all that no attribute changes."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from anyio import to_thread

from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.trees import read_blob, read_blobs, write_blob
from worktrees.records import encode_lines, encode_records

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
    special = await _find_special(git, contents)
    plain = {}
    for path, content in contents.items():
        if path not in special:
            plain[path] = content
    oids = dict(zip(plain, await _write_plain(git, list(plain.values())), strict=True))
    for path in sorted(special):
        oid = await _write_filtered(git, path, contents[path])
        if oid:
            oids[path] = oid
    return oids


async def read_filtered_blobs(git: Git, oids: Mapping[str, str]) -> dict[str, bytes]:
    """Return what a checkout has at some paths when they hold these blobs: path → id in, path → content out.

    Raises:
        GitError: one of them does not exist or is no blob.
    """
    special = await _find_special(git, dict.fromkeys(oids, b""))
    plain = {}
    for path, oid in oids.items():
        if path not in special:
            plain[path] = oid
    blobs, contents = await read_blobs(git, list(plain.values())), {}
    for path, oid in oids.items():
        contents[path] = blobs[oid] if path in plain else await read_blob(git, oid, path)
    return contents


async def _find_special(git: Git, contents: Mapping[str, bytes]) -> set[str]:
    """Return the paths whose content git would not store as it is."""
    special = set()
    if git.work_tree and contents:
        for path, names in (await _read_attributes(git, list(contents))).items():
            if names & set(_CHANGING) or b"\r\n" in contents[path]:
                special.add(path)
    return special


async def _read_attributes(git: Git, paths: Sequence[str]) -> dict[str, set[str]]:
    """Return the paths that have any attribute which touches contents, with those attributes."""
    command = ("check-attr", "-z", "--stdin", "text", *_CHANGING)
    answer = (await git.run_text(*command, stdin=encode_records(paths))).split("\0")
    found: dict[str, set[str]] = {}
    for path, name, value in zip(answer[0::3], answer[1::3], answer[2::3], strict=False):
        if value not in _OFF:
            found.setdefault(path, set()).add(name)
    return found


async def _write_filtered(git: Git, path: str, content: bytes) -> str | None:
    """Return the blob; None if it is the content that git refuses, which it takes as it is."""
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
        command = ("hash-object", "-w", "--no-filters", "--stdin-paths")
        return (await git.run_text(*command, stdin=encode_lines(names))).splitlines()


def _lay_out(place: Path, contents: Sequence[bytes]) -> list[str]:
    names = []
    for number, content in enumerate(contents):
        names.append(f"{place}/{number}")
        Path(names[-1]).write_bytes(content)
    return names

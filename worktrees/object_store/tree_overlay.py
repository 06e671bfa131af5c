"""Replacing files in a tree: reads and writes only the directories on the way, with two processes however many paths.

A temporary index would do as well, but costs three passes over all files of the repository.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.batch_reader import GitObject, read_objects
from worktrees.safety.path_rules import find_path_objection

TREE_MODES = frozenset({"100644", "100755", "120000", "160000"})
"""Modes of a file, an executable file, a symbolic link and a submodule."""

_TREE = "40000"


class _Node(NamedTuple):
    """An entry of a tree as git stores it."""

    mode: str
    oid: str


_Listing = dict[bytes, _Node]
_Changes = dict[bytes, _Node | None]


async def overlay_tree(git: Git, base_tree: str, changes: Mapping[str, tuple[str, str] | None]) -> str:
    """Return the tree `base_tree` with files replaced, added (path → mode and object id) or deleted (path → None).

    A file takes the place of a directory with all it holds, and a directory the place of a file. Deleting what is not
    there, or is a directory by now, changes nothing. Directories that become empty vanish.

    Raises:
        GitError: a path or mode cannot be in a tree, two paths contradict each other, or an object is missing.
    """
    wanted = {}
    for path, change in changes.items():
        wanted[path.encode("utf-8", "surrogateescape")] = _check_paths(path, change)
    _refuse_contradictions(wanted)
    if not wanted:
        return base_tree
    edit = _Edit(base_tree, wanted, await _read_directories(git, base_tree, wanted))
    edit.rebuild_directory(b"")
    return (await _write_trees(git, edit.written))[-1]


def _check_paths(path: str, change: tuple[str, str] | None) -> _Node | None:
    if problem := find_path_objection(path):
        raise GitError(f"{path!r} cannot be put into a tree: {problem}")
    if change is None:
        return None
    mode, oid = change
    if mode not in TREE_MODES:
        raise GitError(f"{path!r} cannot be put into a tree with mode {mode!r}: it is none of {sorted(TREE_MODES)}")
    return _Node(mode, oid)


def _refuse_contradictions(wanted: _Changes) -> None:
    files = {path for path, node in wanted.items() if node}
    for path in files:
        above = next((place for place in _list_parents(path) if place in files), None)
        if above is not None:
            raise GitError(f"{os.fsdecode(above)!r} cannot be a file and hold {os.fsdecode(path)!r} at once")


def _list_parents(path: bytes) -> Iterator[bytes]:
    """Yield the directories a path lies in, nearest first, without the root."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


async def _read_directories(git: Git, base_tree: str, wanted: _Changes) -> dict[bytes, _Listing]:
    places = sorted({b"", *(place for path in wanted for place in _list_parents(path))})
    base = base_tree.encode()
    objects = await read_objects(git, [base + b":" + place if place else base for place in places])
    if objects[0] is None or objects[0].kind != "tree":
        raise GitError(f"{base_tree} is no tree of this repository")
    width = len(objects[0].oid) // 2
    return {place: _parse_tree(found, width) for place, found in zip(places, objects, strict=True)}


def _parse_tree(found: GitObject | None, width: int) -> _Listing:
    """Parse a tree object's entries; nothing for a directory that does not exist or is a file."""
    listing: _Listing = {}
    if found and found.kind == "tree":
        content = found.content
    else:
        content = b""
    position = 0
    while position < len(content):
        end = content.index(b"\0", position)
        mode, _, name = content[position:end].partition(b" ")
        listing[name] = _Node(mode.decode(), content[end + 1 : end + 1 + width].hex())
        position = end + 1 + width
    return listing


class _Edit:
    """Rebuilds the directories that changes touch, from the leaves up; `written` holds them in that order."""

    def __init__(self, base_tree: str, wanted: _Changes, listings: dict[bytes, _Listing]) -> None:
        self._hash = hashlib.sha1 if len(base_tree) == 40 else hashlib.sha256
        self._listings = listings
        self._files = _group_by_parent(wanted)
        self._directories = _group_by_parent(dict.fromkeys(place for place in listings if place))
        self.written: dict[str, _Listing] = {}

    def rebuild_directory(self, place: bytes) -> _Node | None:
        """Return the directory with its changes; None when nothing is left in it."""
        listing = dict(self._listings[place])
        for name in self._directories.get(place, ()):
            child = self.rebuild_directory(place + b"/" + name if place else name)
            _put_entry(listing, name, child, was_tree=True)
        for name, change in self._files.get(place, {}).items():
            _put_entry(listing, name, change, was_tree=False)
        if listing or not place:
            return self._keep_entry(listing)
        return None

    def _keep_entry(self, listing: _Listing) -> _Node:
        content = b"".join(
            node.mode.encode() + b" " + name + b"\0" + bytes.fromhex(node.oid) for name, node in _sort_entries(listing)
        )
        oid = self._hash(b"tree %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        self.written[oid] = listing
        return _Node(_TREE, oid)


def _group_by_parent(wanted: _Changes) -> dict[bytes, _Changes]:
    grouped: dict[bytes, _Changes] = {}
    for path, change in wanted.items():
        parent, _, name = path.rpartition(b"/")
        grouped.setdefault(parent, {})[name] = change
    return grouped


def _put_entry(listing: _Listing, name: bytes, node: _Node | None, *, was_tree: bool) -> None:
    """Set an entry, or remove one that is of the kind expected to be there."""
    if node:
        listing[name] = node
    elif name in listing and (listing[name].mode == _TREE) == was_tree:
        del listing[name]


def _sort_entries(listing: _Listing) -> Sequence[tuple[bytes, _Node]]:
    """Sort entries in git's order, in which a directory's name ends with a slash."""
    return sorted(listing.items(), key=lambda item: item[0] + b"/" if item[1].mode == _TREE else item[0])


async def _write_trees(git: Git, trees: Mapping[str, _Listing]) -> Sequence[str]:
    lines = (line for listing in trees.values() for line in (*map(_format_entry, _sort_entries(listing)), b"\0"))
    made = (await git.run("mktree", "--batch", "-z", stdin=b"".join(lines))).text.split()
    if made != [*trees]:
        raise GitError("git mktree made other trees than were asked for: the repository may be damaged, run git fsck")
    return made


def _format_entry(item: tuple[bytes, _Node]) -> bytes:
    name, node = item
    kind = {_TREE: "tree", "160000": "commit"}.get(node.mode, "blob")
    return f"{node.mode.zfill(6)} {kind} {node.oid}\t".encode() + name + b"\0"

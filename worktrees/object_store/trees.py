"""Trees and blobs: list, read, write, replace. Nothing here needs a worktree."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.batch_reader import read_objects
from worktrees.object_store.object_ids import ImmutableCache, is_object_id
from worktrees.records import split_records

_trees: ImmutableCache[tuple[Path, str], str] = ImmutableCache(4096)
"""The trees of commits."""
_MOST_LISTED = 200_000
"""Files in all listings that are kept: some 60 MB."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a tree: `mode` as in `100644`, `kind` `blob` or `commit` (a submodule).

    `size` is in bytes; None of a submodule, and of a file that git cannot read.
    """

    path: str
    mode: str
    kind: str
    oid: str
    size: int | None


_listings: ImmutableCache[tuple[Path, str], tuple[TreeEntry, ...]] = ImmutableCache(_MOST_LISTED)
"""The files of whole trees: every judge of a candidate lists the candidate and its base."""


async def list_tree(git: Git, treeish: str, paths: Sequence[str] = ()) -> tuple[TreeEntry, ...]:
    """List the files of a tree in git's order; only those that are, or lie below, one of `paths` if any are given."""
    if paths or not is_object_id(treeish):
        return await _list_entries(git, treeish, paths)
    key = (git.git_dir, treeish)
    known = _listings.get_value(key)
    if known is None:
        known = await _list_entries(git, treeish)
        if all(entry.size is not None or entry.kind != "blob" for entry in known):  # else it may be mended
            _listings.store_value(key, known, max(1, len(known)))
    return known


async def _list_entries(git: Git, treeish: str, paths: Sequence[str] = ()) -> tuple[TreeEntry, ...]:
    listing = await git.run_text("ls-tree", "-r", "-z", "--long", "--full-tree", treeish, "--", *paths)
    return tuple(map(_parse_entry, split_records(listing)))


def _parse_entry(record: str) -> TreeEntry:
    meta, _, path = record.partition("\t")
    mode, kind, oid, size = meta.split()
    return TreeEntry(path, sys.intern(mode), sys.intern(kind), oid, int(size) if size.isdecimal() else None)


async def list_files_named(git: Git, treeish: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the paths of a tree's files and links whose own name is one of `names`; no object but trees is read."""
    if not names:
        return ()
    listing = await git.run_text("ls-tree", "-r", "-z", "--full-tree", treeish)
    found = []
    for record in split_records(listing):
        meta, _, path = record.partition("\t")
        if path.rpartition("/")[2] in names and " blob " in meta:
            found.append(path)
    return tuple(found)


async def list_paths(git: Git, treeish: str) -> tuple[str, ...]:
    """Return the paths of a tree's files; no object but trees is read."""
    return tuple(split_records(await git.run_text("ls-tree", "-r", "-z", "--name-only", "--full-tree", treeish)))


async def map_tree(git: Git, treeish: str) -> dict[str, str]:
    """Return the object id of every entry of a tree by its path."""
    return {entry.path: entry.oid for entry in await list_tree(git, treeish)}


async def read_files(git: Git, oids: Mapping[str, str]) -> dict[str, bytes]:
    """Return by path the contents of these blobs.

    Raises:
        GitError: one of them does not exist or is no blob.
    """
    blobs = await read_blobs(git, list(oids.values()))
    return {path: blobs[oid] for path, oid in oids.items()}


async def read_entry_contents(git: Git, entries: Sequence[TreeEntry]) -> dict[str, bytes]:
    """Return the contents of files of a tree, by path."""
    blobs = await read_blobs(git, [entry.oid for entry in entries])
    return {entry.path: blobs[entry.oid] for entry in entries}


async def read_blobs(git: Git, oids: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of blobs by their ids.

    Raises:
        GitError: one of them does not exist or is no blob.
    """
    unique = list(dict.fromkeys(oids))
    objects = await read_objects(git, list(map(str.encode, unique)))
    contents = {}
    for oid, found in zip(unique, objects, strict=True):
        if found is None or found.kind != "blob":
            raise GitError(f"{oid} is no blob of this repository: if it is damaged or missing, `git fsck` names it")
        contents[oid] = found.content
    return contents


async def read_blob(git: Git, oid: str, path: str = "") -> bytes:
    """Return the content of one blob, which may be named as `<tree>:<path>` too.

    With `path` it is what a checkout has at that place: the `.gitattributes` of the git's work tree may ask for other
    line ends or another encoding.

    Raises:
        GitError: it does not exist or is no blob.
    """
    how = ("--filters", f"--path={path}") if path else ("blob",)
    return (await git.run("cat-file", *how, oid)).stdout


async def write_blob(git: Git, content: bytes, path: str = "") -> str:
    """Store a content byte for byte, or with `path` as git would store what a checkout has there; gives its id."""
    how = (f"--path={path}",) if path else ()
    return await git.run_text("hash-object", "-w", "--stdin", *how, stdin=content)


async def write_empty_tree(git: Git) -> str:
    """Write the tree that holds nothing if it was not there, and return its id."""
    return await git.run_text("mktree", stdin=b"")


async def find_commit(git: Git, name: str) -> str | None:
    """Return the commit that a branch, a tag or an id names; None if there is no such thing."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return await git.run_text(*words, ok=(0, 1, 128)) or None


async def read_tree_id(git: Git, commit: str) -> str:
    """Return the tree of a commit.

    Raises:
        GitError: there is no such commit.
    """
    known = _trees.get_value((git.git_dir, commit))
    if known:
        return known
    tree = await git.run_text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}")
    remember_tree(git, commit, tree)
    return tree


def remember_tree(git: Git, commit: str, tree: str) -> None:
    """Keep the tree of a commit that was just made or read, so that nobody has to ask for it."""
    if is_object_id(commit):
        _trees.store_value((git.git_dir, commit), tree)

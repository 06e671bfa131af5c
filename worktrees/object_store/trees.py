"""Trees and blobs: list, read, write, replace. Nothing here needs a worktree."""

from collections.abc import Sequence
from dataclasses import dataclass

from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.batch_reader import read_objects
from worktrees.object_store.tree_overlay import TREE_MODES, overlay_tree

__all__ = [
    "TREE_MODES",
    "TreeEntry",
    "find_commit",
    "list_tree",
    "overlay_tree",
    "read_blob",
    "read_blobs",
    "read_tree_id",
    "write_blob",
]


@dataclass(frozen=True)
class TreeEntry:
    """One file of a tree: `mode` as in `100644`, `kind` `blob` or `commit` (a submodule), `size` in bytes."""

    path: str
    mode: str
    kind: str
    oid: str
    size: int | None


async def list_tree(git: Git, treeish: str, paths: Sequence[str] = ()) -> tuple[TreeEntry, ...]:
    """All files of a tree in git's order; only those that are, or lie below, one of `paths` if any are given."""
    listing = await git.run_text("ls-tree", "-r", "-z", "--long", "--full-tree", treeish, "--", *paths)
    return tuple(_entry(record) for record in listing.split("\0") if record)


def _entry(record: str) -> TreeEntry:
    meta, _, path = record.partition("\t")
    mode, kind, oid, size = meta.split()
    return TreeEntry(path, mode, kind, oid, None if size == "-" else int(size))


async def read_entry_contents(git: Git, entries: Sequence[TreeEntry]) -> dict[str, bytes]:
    """Return the contents of files of a tree, by path."""
    blobs = await read_blobs(git, [entry.oid for entry in entries])
    return {entry.path: blobs[entry.oid] for entry in entries}


async def read_blobs(git: Git, oids: Sequence[str]) -> dict[str, bytes]:
    """The contents of blobs by their ids.

    Raises:
        GitError: one of them does not exist or is no blob.
    """
    unique = list(dict.fromkeys(oids))
    objects = await read_objects(git, [oid.encode() for oid in unique])
    contents = {}
    for oid, found in zip(unique, objects, strict=True):
        if found is None or found.kind != "blob":
            raise GitError(f"{oid} is no blob of this repository")
        contents[oid] = found.content
    return contents


async def read_blob(git: Git, oid: str, path: str = "") -> bytes:
    """The content of one blob, which may be named as `<tree>:<path>` too.

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
    """The tree that holds nothing, written if it was not there."""
    return await git.run_text("mktree", stdin=b"")


async def find_commit(git: Git, name: str) -> str | None:
    """The commit that a branch, a tag or an id names; None if there is no such thing."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return await git.run_text(*words, ok=(0, 1, 128)) or None


async def read_tree_id(git: Git, commit: str) -> str:
    """The tree of a commit.

    Raises:
        GitError: there is no such commit.
    """
    return await git.run_text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}")

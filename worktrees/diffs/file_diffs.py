"""Differences between two trees or commits: exact paths and counts from git's records, hunks from its patch."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from anyio import to_thread

from worktrees.diffs.hunks import Hunk, parse_hunks
from worktrees.git import Git
from worktrees.object_store.object_ids import ImmutableCache, is_object_id

_FILE_BYTES = 2 * 1024 * 1024
_PATCH_BYTES = 64 * 1024 * 1024
_STATUS = {"A": "added", "M": "modified", "D": "deleted", "R": "renamed", "T": "type-changed"}
_ABSENT = "000000"
_START = b"diff --git "
_INDEX = re.compile(rb"^index ([0-9a-f]+)\.\.([0-9a-f]+)", re.MULTILINE)
_BLOBS = ("diff-tree", "--patch", "-U0", "--text", "--no-renames", "--no-color")
_COMMON = ("diff-tree", "-r", "-M", "-l1000", "--no-color", "--submodule=short")


@dataclass(frozen=True)
class FileDiff:
    """One file's change. `status` is added, modified, deleted, renamed or type-changed.

    Modes are as in `100644`, None on the side where the file does not exist. `added` and `removed` count lines, 0 for
    binary files. `hunks` is empty for binary files, for pure renames and changes of mode, and when `is_opaque`: the
    file's patch is too large to be taken apart.
    """

    path: str
    old_path: str | None
    status: str
    added: int
    removed: int
    is_binary: bool
    old_mode: str | None
    new_mode: str | None
    hunks: tuple[Hunk, ...] = ()
    is_opaque: bool = False


@dataclass(frozen=True)
class Diff:
    """All files that differ, by path."""

    files: tuple[FileDiff, ...]

    @property
    def added(self) -> int:
        """Added lines of all files."""
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        """Removed lines of all files."""
        return sum(file.removed for file in self.files)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that is touched, the old ones of renames too, sorted."""
        return tuple(sorted({path for file in self.files for path in (file.path, file.old_path) if path is not None}))


_KEPT_LINES = 10_000
_diffs: ImmutableCache[tuple[Git, str, str, tuple[str, ...], bool], Diff] = ImmutableCache(64)
"""Differences of some thousand lines at most: the gate, the rules and the reviewers look at the same one."""


async def diff_trees(git: Git, old: str, new: str, paths: Sequence[str] = (), *, has_hunks: bool = True) -> Diff:
    """Return the difference between two trees or commits, renames recognised.

    Text that is not UTF-8 is shown replaced.

    Args:
        git: of the repository that has both.
        old: what was before.
        new: what is now.
        paths: only these and what lies below them, if any are given; a rename needs both of its paths.
        has_hunks: False leaves them all out: a first look at what may be a very large change.

    Raises:
        GitError: one of them does not exist.
    """
    key = (git, old, new, tuple(paths), has_hunks)
    known = _diffs.get_value(key)
    if known:
        return known
    found = await _read_diff(git, old, new, paths, has_hunks=has_hunks)
    if is_object_id(old, new) and sum(file.added + file.removed for file in found.files) < _KEPT_LINES:
        _diffs.store_value(key, found)
    return found


async def _read_diff(git: Git, old: str, new: str, paths: Sequence[str], *, has_hunks: bool) -> Diff:
    fields = (await git.run_text(*_COMMON, "--raw", "--numstat", "-z", old, new, "--", *paths)).split("\0")
    changes = list(_parse_changes(iter(fields)))
    if not has_hunks or not any(file.added or file.removed for file, _ in changes):
        return Diff(tuple(file for file, _ in changes))
    patch = await git.run(*_COMMON, "--patch", "--full-index", old, new, "--", *paths, limit_bytes=_PATCH_BYTES)
    pieces = _split_patch(patch.stdout)
    if patch.is_cut:
        pieces[-1:] = []
    return Diff(tuple(_with_hunks(changes, pieces)))


async def read_diff_text(git: Git, old: str, new: str, paths: Sequence[str] = (), context: int = 3) -> str:
    """Return the patch as text for a reader, limited to `paths` and what lies below them if any are given."""
    patch = await git.run(*_COMMON, "--patch", f"-U{context}", old, new, "--", *paths, limit_bytes=_PATCH_BYTES)
    return patch.stdout.decode("utf-8", "replace")


async def read_diff_stat(git: Git, old: str, new: str) -> str:
    """Return git's summary: a line for each file, and one for the whole."""
    return (await git.run(*_COMMON, "--stat=100", old, new)).stdout.decode("utf-8", "replace").rstrip("\n")


def _parse_changes(fields: Iterator[str]) -> Iterator[tuple[FileDiff, str]]:
    """Yield files with the ids of their two contents, from raw records followed by counts in the same order."""
    files = []
    field = next(fields, "")
    while field.startswith(":"):
        files.append(_parse_file(field[1:].split(" "), fields))
        field = next(fields, "")
    for file, ids in files:
        added, removed, name = field.split("\t", 2)
        if not name:  # a rename: its two paths follow
            next(fields)
            next(fields)
        if added == "-":
            yield replace(file, is_binary=True), ids
        else:
            yield replace(file, added=int(added), removed=int(removed)), ids
        field = next(fields, "")


def _parse_file(meta: list[str], paths: Iterator[str]) -> tuple[FileDiff, str]:
    old_mode, new_mode, old_id, new_id, status = meta
    first = next(paths)
    is_rename = status.startswith("R")
    file = FileDiff(
        path=next(paths) if is_rename else first,
        old_path=first if is_rename else None,
        status=_STATUS[status[0]],
        added=0,
        removed=0,
        is_binary=False,
        old_mode=None if old_mode == _ABSENT else old_mode,
        new_mode=None if new_mode == _ABSENT else new_mode,
    )
    return file, f"{old_id} {new_id}"


def _split_patch(patch: bytes) -> list[bytes]:
    """Return the patch cut where a file begins; no line of a content can look like that, having a sign before it."""
    starts = []
    for found in re.finditer(rb"^" + _START, patch, re.MULTILINE):
        starts.append(found.start())
    return [patch[start:end] for start, end in pairwise([*starts, len(patch)])]


def _with_hunks(changes: Sequence[tuple[FileDiff, str]], pieces: Sequence[bytes]) -> Iterator[FileDiff]:
    """Give each file its part of the patch; a change of type is two parts, a deletion and an addition."""
    position = 0
    for file, ids in changes:
        count = 1 + (file.status == "type-changed")
        own = pieces[position : position + count]
        position += count
        is_whole = len(own) == count and all(_is_about(piece, ids) for piece in own)
        if not (file.added or file.removed):
            yield file
        elif is_whole and sum(map(len, own)) <= _FILE_BYTES:
            yield _parse_pieces(file, own)
        else:
            yield replace(file, is_opaque=True)


def _is_about(piece: bytes, ids: str) -> bool:
    """Return True if a part of the patch is about these contents; one without ids changes no content."""
    found = _INDEX.search(piece)
    return found is None or all(oid.decode() in ids or not oid.strip(b"0") for oid in found.groups())


def _parse_pieces(file: FileDiff, pieces: Sequence[bytes]) -> FileDiff:
    read = [_parse_piece(piece) for piece in pieces]
    if any(hunks is None for hunks in read):
        return replace(file, is_opaque=True)
    return replace(file, hunks=tuple(hunk for hunks in read for hunk in hunks or ()))


def _parse_piece(piece: bytes) -> tuple[Hunk, ...] | None:
    try:
        return parse_hunks(piece.decode("utf-8", "replace"))
    except ValueError:
        return None


async def diff_blobs(git: Git, pairs: Sequence[tuple[str, str]]) -> list[tuple[Hunk, ...] | None]:
    """Return the hunks between each pair of blobs, by their ids, without any lines of context.

    None where git's patch cannot be read, or is too large. All are compared in one go, as files of two trees.

    Raises:
        GitError: one of the blobs does not exist.
    """
    old, new = [await _tree_of_blobs(git, [pair[side] for pair in pairs]) for side in (0, 1)]
    patch = await git.run(*_BLOBS, old, new, limit_bytes=_PATCH_BYTES)
    if patch.is_cut and len(pairs) > 1:
        middle = len(pairs) // 2
        return [*await diff_blobs(git, pairs[:middle]), *await diff_blobs(git, pairs[middle:])]
    if patch.is_cut:
        return [None for _ in pairs]
    return await to_thread.run_sync(_hunks_by_place, patch.stdout, len(pairs))


def _hunks_by_place(patch: bytes, count: int) -> list[tuple[Hunk, ...] | None]:
    found: list[tuple[Hunk, ...] | None] = [() for _ in range(count)]
    for piece in _split_patch(patch):
        name = piece.removeprefix(_START).split(b" ", 1)[0]
        found[int(name.rpartition(b"/")[2])] = _parse_piece(piece)
    return found


async def _tree_of_blobs(git: Git, oids: Sequence[str]) -> str:
    """Return a tree in which the blobs are files, named by their places."""
    entries = "".join(f"100644 blob {oid}\t{place:09}\n" for place, oid in enumerate(oids))
    return await git.run_text("mktree", stdin=entries.encode("ascii"))

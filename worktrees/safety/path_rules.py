"""File names that may not enter a tree, because git or somebody's file system takes them for something else."""

import re
import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and signs that leave no ink: the fillers of Hangul and Khmer, an empty Braille cell, an invisible joiner."""

_DOT_GIT = re.compile(r"\.git|git~\d+", re.IGNORECASE)
_DOT_GITMODULES = re.compile(r"\.gitmodules|g[a-z0-9]{0,5}~\d+|gitmod~\d+", re.IGNORECASE)
_DOT_GITATTRIBUTES = re.compile(r"\.gitattributes|gi7d29~\d+|gitatt~\d+", re.IGNORECASE)
_NOT_FOLLOWED = re.compile(
    _DOT_GITATTRIBUTES.pattern + r"|\.gitignore|gi250a~\d+|gitign~\d+|\.mailmap|maba30~\d+|mailma~\d+", re.IGNORECASE
)
"""Files that git reads, but not through a link; with the short names that it knows for them (`fsck.c`, `path.c`)."""
MAX_PATH_DEPTH = 200
"""Directories above a file: each costs a descriptor while a tree is gone through, and nobody needs more."""

_SEPARATOR = re.compile(r"[/\\]")


def find_path_objection(path: str) -> str | None:
    """Return why a relative path may not be in a tree at all, or None."""
    if not path or path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")):
        return "it does not lie inside the tree"
    if any(_looks_like(part, _DOT_GIT) for part in _SEPARATOR.split(path)):
        return "a part of its name stands for .git on some file system"
    if path.count("/") > MAX_PATH_DEPTH:
        return f"it lies more than {MAX_PATH_DEPTH} directories deep"
    return None


def is_legible_path(path: str) -> bool:
    """Return True if a path shows what it is.

    It has no control characters, none that turn text around, and none that cannot be seen.
    """
    return not any(unicodedata.category(c) in _UNSEEN or c in _BLANK for c in path)


def is_gitmodules_path(path: str) -> bool:
    """Return True if some file system takes a part of the path for `.gitmodules`, which says where submodules are."""
    return any(_looks_like(part, _DOT_GITMODULES) for part in path.split("/"))


def has_attributes_above(path: str) -> bool:
    """Return True if some file system takes a directory on the path for `.gitattributes`.

    Git wants that to be a file.
    """
    return any(_looks_like(part, _DOT_GITATTRIBUTES) for part in path.split("/")[:-1])


def fold_file_name(name: str) -> str:
    """Return the name as file systems compare it that do not tell case, or ways to write an accent, apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def find_link_objection(path: str, target: str) -> str | None:
    """Return why a symbolic link at `path` that points to `target` may not be in a tree, or None.

    Targets may climb only at their beginning, so that no chain of such links can leave the tree.
    """
    if is_gitmodules_path(path) or _looks_like(path.rpartition("/")[2], _NOT_FOLLOWED):
        return "git does not follow a link of this name"
    if target.startswith("/"):
        return "it is a link to an absolute path"
    parts = []
    for part in target.split("/"):
        if part not in ("", "."):
            parts.append(part)
    climbs = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    if climbs > path.count("/") or ".." in parts[climbs:]:
        return "it is a link that leaves the tree"
    if any(_looks_like(part, _DOT_GIT) for part in parts):
        return "it is a link into git's own directory"
    return None


def escape_path(path: str) -> str:
    """Escape everything in a path that could disturb a terminal or an encoder."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in path)


def _looks_like(part: str, pattern: re.Pattern[str]) -> bool:
    """Return True if a file system would see `pattern`.

    Some drop ignorable characters, trailing dots and stream names.
    """
    seen = "".join(c for c in part if unicodedata.category(c) != "Cf").partition(":")[0].rstrip(". ")
    return pattern.fullmatch(seen) is not None

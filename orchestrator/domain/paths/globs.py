"""Path globs: what is one, what one matches, and whether two can match the same file, which errs on the side of yes."""

from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain

from orchestrator.domain.text.lazy_pattern import compile_lazily

_WILD = compile_lazily(r"[*?\[]")
_RANGE = compile_lazily(r"(.)-(.)")
_SET = compile_lazily(r"\[!?\^?(\]?[^\]]*)\]")


def is_glob(text: str) -> bool:
    """Return True if a text is a glob of files: no negation, no comment, no escape, no range that runs backwards."""
    if not text.strip() or text[0] in "!#" or set(text) & {"\\", "\0", "\n"}:
        return False
    ranges = chain.from_iterable(map(_RANGE.findall, _SET.findall(text)))
    return all(first <= last for first, last in ranges)


def can_overlap(left: str, right: str) -> bool:
    """Return True if some path could match both globs; `**` stands for any number of directories.

    A glob covers everything below what it names, as in .gitignore.
    """
    return _can_paths_overlap(_split_glob(left), _split_glob(right))


def _split_glob(glob: str) -> tuple[str, ...]:
    return tuple(part for part in glob.split("/") if part not in ("", "."))


@lru_cache(maxsize=4096)
def _can_paths_overlap(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    if not left or not right:
        return True
    if left[0] == "**":
        return _can_paths_overlap(left[1:], right) or _can_paths_overlap(left, right[1:])
    if right[0] == "**":
        return _can_paths_overlap(left, right[1:]) or _can_paths_overlap(left[1:], right)
    return _can_names_overlap(left[0], right[0]) and _can_paths_overlap(left[1:], right[1:])


def is_covered(inner: str, outer: str) -> bool:
    """Return True if every path that matches `inner` surely matches `outer`, too; where that is unclear, False."""
    return _covers_path(_split_glob(outer), _split_glob(inner))


@lru_cache(maxsize=4096)
def _covers_path(outer: tuple[str, ...], inner: tuple[str, ...]) -> bool:
    if not outer or outer == ("**",):
        return True
    if not inner:
        return False
    if outer[0] == "**":
        return _covers_path(outer[1:], inner) or _covers_path(outer, inner[1:])
    if inner[0] == "**":
        return False
    return _covers_name(outer[0], inner[0]) and _covers_path(outer[1:], inner[1:])


def _covers_name(outer: str, inner: str) -> bool:
    """Compare one part of a path; a wildcard is covered only where the outer part has a `*`."""
    if not _WILD.search(inner):
        return fnmatchcase(inner, outer)
    return outer == inner or ("?" not in outer and "[" not in outer and fnmatchcase(inner, outer))


def _can_names_overlap(left: str, right: str) -> bool:
    """Compare what stands before the first and after the last wildcard; the middle may always meet."""
    (head_l, tail_l), (head_r, tail_r) = _split_ends(left), _split_ends(right)
    if tail_l is None and tail_r is None:
        return left == right
    heads = head_l.startswith(head_r) or head_r.startswith(head_l)
    tail_l, tail_r = tail_l if tail_l is not None else left, tail_r if tail_r is not None else right
    return heads and (tail_l.endswith(tail_r) or tail_r.endswith(tail_l))


def _split_ends(name: str) -> tuple[str, str | None]:
    found = list(_WILD.finditer(name))
    if not found:
        return name, None
    tail = name[found[-1].end() :]
    return name[: found[0].start()], tail.rpartition("]")[2]


def matches_glob(glob: str, path: str) -> bool:
    """Return True if a glob matches exactly this path, or a directory above it; `**` as in `can_overlap`."""
    return _matches_path(_split_glob(glob), _split_glob(path))


@lru_cache(maxsize=4096)
def _matches_path(glob: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Return True if the parts match; kept, as several `**` ask about the same rest of a path over and over."""
    if not glob:
        return True
    if glob[0] == "**":
        return any(_matches_path(glob[1:], path[start:]) for start in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], glob[0]) and _matches_path(glob[1:], path[1:])

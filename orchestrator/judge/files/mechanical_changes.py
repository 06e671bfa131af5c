"""Files of which a change only exchanged a few names, the same ones everywhere, or that only got another place.

Nobody has to read each line of them: whoever knows the names knows the change. In Python the syntax is compared, so
that lines may be laid out anew; in any other text everything between the words is the same.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.source.python_syntax import parse_python

MAX_EXCHANGED_NAMES = 3
"""So many names may be exchanged, as for a class, its functions and its module."""
_PARTS = compile_lazily(r"\w+|\W+")
_WORD = compile_lazily(r"[^\W\d]\w*")
_Names = Mapping[str, str]


def find_mechanical_files(files: Sequence[ChangedFile]) -> frozenset[str]:
    """Return the paths of the files that only had names exchanged which are exchanged in the most files. Blocks."""
    found: dict[str, _Names] = {}
    for file, before in _iterate_pairs(files):
        names = _find_exchanged_names(file.path, before, file.after or b"")
        if names is not None:
            found[file.path] = names
    counts = Counter[tuple[str, str]]()
    for names in found.values():
        counts.update(names.items())
    chosen = _choose_names(counts)
    paths = {path for path, names in found.items() if names.items() <= chosen.items()}
    moved = {file.path for file in files if file.is_deleted and _is_moved(file, files, paths)}
    return frozenset(paths | moved)


def _choose_names(counts: Counter[tuple[str, str]]) -> _Names:
    """Return the names that are exchanged most often, each for one other; none that two names become."""
    chosen: dict[str, str] = {}
    for (old, new), _ in counts.most_common(MAX_EXCHANGED_NAMES):
        if old not in chosen and new not in chosen.values():
            chosen[old] = new
    return chosen


def _iterate_pairs(files: Sequence[ChangedFile]) -> Iterator[tuple[ChangedFile, bytes]]:
    """Yield files with the content that they had, there or where they were moved from."""
    deleted = [file for file in files if file.is_deleted and file.before]
    for file in files:
        if file.before is not None and file.after is not None:
            yield file, file.before
        elif file.is_new and file.after:
            for old in deleted:
                if _is_like(old, file):
                    yield file, old.before or b""
                    break


def _is_moved(file: ChangedFile, files: Sequence[ChangedFile], mechanical: set[str]) -> bool:
    return any(one.is_new and one.path in mechanical and _is_like(file, one) for one in files)


def _is_like(old: ChangedFile, new: ChangedFile) -> bool:
    """Return True if a file may be another one that was moved: its content is the same but for some names."""
    before, after = old.before or b"", new.after or b""
    return before.count(b"\n") == after.count(b"\n") and _find_exchanged_names(new.path, before, after) is not None


def _find_exchanged_names(path: str, before: bytes, after: bytes) -> _Names | None:
    """Return the names that stand for others now, if that is all that differs; None if it is not."""
    old, new = _read_parts(path, before), _read_parts(path, after)
    if old is None or new is None or len(old) != len(new):
        return None
    names: dict[str, str] = {}
    for left, right in zip(old, new, strict=True):
        if names.setdefault(left, right) != right:
            return None
        if left != right and not (_WORD.fullmatch(left) and _WORD.fullmatch(right)):
            return None
    exchanged = {left: right for left, right in names.items() if left != right}
    is_clear = names.keys().isdisjoint(exchanged.values())
    return exchanged if is_clear and len(exchanged) <= MAX_EXCHANGED_NAMES else None


def _read_parts(path: str, content: bytes) -> list[str] | None:
    """Return the words of a text and what stands between them; of Python those of its syntax tree."""
    if b"\0" in content:
        return None
    if path.endswith((".py", ".pyi")) and (tree := parse_python(content)):
        return _PARTS.findall(ast.dump(tree))
    return _PARTS.findall(content.decode("utf-8", "replace"))

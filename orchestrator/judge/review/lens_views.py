"""What each lens shows of a change, as text, with the lines that a reviewer can cite from it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from orchestrator.domain.judging.review import LineRange, ReviewMaterial
from orchestrator.judge.review.comment_stripping import strip_comments
from orchestrator.judge.source.hidden_text import escape_hidden_text, remove_hidden_text
from orchestrator.judge.source.reviewer_addresses import remove_addresses, remove_addresses_from_name
from worktrees.diffs.file_diffs import Diff, FileDiff
from worktrees.diffs.hunks import Hunk, HunkLine
from worktrees.safety.path_rules import escape_path

MAX_VIEW_CHARS = 200_000
_LINE_CHARS = 2_000
_NAMES = 400
_NOTHING = "(without comments, docstrings and hidden characters, nothing of the change is left)"
_AS_IT_IS = "its comments could not be told from its code for sure, so it is shown as it is"

FileSides = tuple[bytes | None, bytes | None]
"""A file's content before and after; None where there is none, or too much of it to be read."""
_Row = tuple[str, int, str]
"""A line of a view: `+`, `-` or a space, its number on its own side, its text."""


def build_diff_view(text: str, changed: Diff, unseen: Collection[str] = ()) -> ReviewMaterial:
    """The change as it is; `text` is git's patch, already bounded, and of the `unseen` files it does not hold all."""
    places = {}
    for file in changed.files:
        if file.path not in unseen:
            for path in map(escape_path, _paths(file)):
                places[path] = tuple(span for hunk in file.hunks for span in _spans(hunk))
    return ReviewMaterial(text=text, places=places)


def build_code_view(changed: Diff, contents: Mapping[str, FileSides]) -> ReviewMaterial:
    """The change without what only speaks to readers: comments, docstrings, hidden characters, words to reviewers.

    Every line has its number. Blocks while Python is parsed.

    Args:
        changed: what differs.
        contents: both sides of each changed file, by its new path.
    """
    parts: list[str] = []
    places: dict[str, tuple[LineRange, ...]] = {}
    for file in changed.files:
        about, rows = _code_of(file, contents.get(file.path, (None, None)))
        parts += [f"{_title(file)}{f' ({about})' if about else ''}", *map(_numbered, rows), ""]
        spans = _runs(number for _, number, _ in rows)
        places |= dict.fromkeys((_bare_name(path) for path in _paths(file)), spans)
    is_empty = not any(places.values()) and not any(map(_is_more_than_text, changed.files))
    return ReviewMaterial(text="\n".join((*parts, *([_NOTHING] if is_empty else []))), places=places)


def build_codebase_view(files: Mapping[str, bytes | None], gone: Sequence[str], names: Sequence[str]) -> ReviewMaterial:
    """The changed files as they are now, not what was changed in them, and what lies around them.

    Args:
        files: the content of every changed file that there is; None where it is too large.
        gone: paths that are not there any more.
        names: all paths of the tree.
    """
    parts: list[str] = []
    places: dict[str, tuple[LineRange, ...]] = {}
    left = MAX_VIEW_CHARS
    for path, content in files.items():
        lines, about = _lines(content, left)
        numbered = []
        for number, line in enumerate(lines, start=1):
            numbered.append(_numbered((" ", number, escape_hidden_text(line))))
        left -= sum(map(len, numbered))
        parts += [f"{escape_path(path)}{f' ({about})' if about else ''}", *numbered, ""]
        places[escape_path(path)] = ((1, len(lines)),) if lines else ()
    parts += [f"{escape_path(path)} is not there" for path in gone]
    listed = _around(files, gone, names)
    parts += ["", "In the same directories and at the top:", *map(escape_path, listed[:_NAMES])]
    if len(listed) > _NAMES:
        parts.append(f"and {len(listed) - _NAMES} more")
    return ReviewMaterial(text="\n".join(parts), places=places)


def _paths(file: FileDiff) -> Iterator[str]:
    for path in (file.path, file.old_path):
        if path is not None:
            yield path


def _bare_name(path: str) -> str:
    return escape_path(remove_addresses_from_name(remove_hidden_text(path)))


def _spans(hunk: Hunk) -> Iterator[LineRange]:
    for start, length in ((hunk.new_start, hunk.new_length), (hunk.old_start, hunk.old_length)):
        if length:
            yield start, start + length - 1


def _title(file: FileDiff) -> str:
    if file.old_path:
        came = f" from {_bare_name(file.old_path)}"
    else:
        came = ""
    if file.old_mode and file.new_mode != file.old_mode:
        mode = f", mode {file.old_mode} -> {file.new_mode}"
    else:
        mode = ""
    return f"{_bare_name(file.path)}: {file.status}{came}{mode}"


def _is_more_than_text(file: FileDiff) -> bool:
    """Whether it changes something that is no text: a file's name, its mode or bytes, or whether it exists."""
    return file.is_binary or file.is_opaque or file.old_path is not None or file.old_mode != file.new_mode


def _code_of(file: FileDiff, sides: FileSides) -> tuple[str, list[_Row]]:
    """What is to be said of a file, and its rows."""
    if file.is_binary:
        return "binary, not shown", []
    if file.is_opaque:
        return "too large, not shown", []
    old, new = (side if side is None else strip_comments(path, side) for path, side in _sides(file, sides))
    is_whole = (old is not None or file.old_mode is None) and (new is not None or file.new_mode is None)
    if not is_whole:
        rows = []
        for hunk in file.hunks:
            for line in hunk.lines:
                rows.append(_row(line, line.text))
        return _AS_IT_IS, [(sign, number, _bare(text)) for sign, number, text in rows]
    rows = []
    for hunk in file.hunks:
        for row in _code_rows(hunk, old or (), new or ()):
            rows.append(row)
    return ("" if rows or not file.hunks else "nothing but comments or docstrings differ"), rows


def _sides(file: FileDiff, sides: FileSides) -> Iterator[tuple[str, bytes | None]]:
    yield file.old_path or file.path, sides[0]
    yield file.path, sides[1]


def _row(line: HunkLine, text: str) -> _Row:
    return line.kind, (line.old_number if line.kind == "-" else line.new_number) or 0, text


def _code_rows(hunk: Hunk, old: Sequence[str], new: Sequence[str]) -> list[_Row]:
    """The rows of a hunk that still hold something; none if no change is left in it."""
    rows: list[_Row] = []
    for is_context, lines in groupby(hunk.lines, key=lambda line: line.kind == " "):
        found = [_row(line, _bare(_at(old if line.kind == "-" else new, line))) for line in lines]
        held = [row for row in found if row[2].strip()]
        rows += held if is_context else _still_changed(held)
    if any(sign != " " for sign, _, _ in rows):
        return rows
    return []


def _at(lines: Sequence[str], line: HunkLine) -> str:
    _, number, _ = _row(line, "")
    if 0 < number <= len(lines):
        return lines[number - 1]
    return ""


def _still_changed(rows: Sequence[_Row]) -> list[_Row]:
    """Changed rows, of which those that differ in nothing any more are context."""
    old = [row for row in rows if row[0] == "-"]
    new = [row for row in rows if row[0] == "+"]
    if [text for _, _, text in old] != [text for _, _, text in new]:
        return [*old, *new]
    return [(" ", number, text) for _, number, text in new]


def _bare(text: str) -> str:
    """A line without what only speaks to reviewers; what is cut off when it is shown stays, to be compared."""
    text = remove_hidden_text(text)
    return remove_addresses(text[:_LINE_CHARS]) + text[_LINE_CHARS:]


def _numbered(row: _Row) -> str:
    sign, number, text = row
    left = len(text) - _LINE_CHARS
    return f"{sign}{number:>6}  {text[:_LINE_CHARS]}" + (f" [{left} more characters of this line]" if left > 0 else "")


def _runs(numbers: Iterable[int]) -> tuple[LineRange, ...]:
    """Numbers as runs without a gap."""
    spans: list[LineRange] = []
    for number in sorted(set(numbers)):
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return tuple(spans)


def _lines(content: bytes | None, most_chars: int) -> tuple[list[str], str]:
    """The first lines of a content, and what is to be said of the rest."""
    if content is None:
        return [], "too large, not shown"
    if b"\0" in content[:8_000]:
        return [], "binary, not shown"
    lines = content.decode("utf-8", "replace").removesuffix("\n").split("\n") if content else []
    shown: list[str] = []
    for line in lines:
        most_chars -= min(len(line), _LINE_CHARS) + 10
        if most_chars < 0:
            return shown, f"{len(lines) - len(shown)} of its {len(lines)} lines are not shown"
        shown.append(line)
    return shown, "" if lines else "empty"


def _around(files: Iterable[str], gone: Iterable[str], names: Iterable[str]) -> list[str]:
    """The files of the directories in which something changed, and of the top; of others only that they are there."""
    places = {"", *(path.rpartition("/")[0] for path in (*files, *gone))}
    near = []
    for name in names:
        if name.rpartition("/")[0] in places:
            near.append(name)
    below = set()
    for name in names:
        if "/" in name:
            below.add(name.partition("/")[0] + "/")
    return [*sorted(below), *near]

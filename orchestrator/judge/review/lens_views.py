"""The views of a change that lenses show, as text, with the lines that a reviewer can cite from it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import NamedTuple

from orchestrator.domain.judging.review import LineRange, ReviewMaterial
from orchestrator.domain.text.listing import limit_lines
from orchestrator.judge.files.classification import is_binary
from orchestrator.judge.review.comment_stripping import strip_comments
from orchestrator.judge.source import reviewer_addresses
from worktrees.diffs.file_diffs import Diff, FileDiff
from worktrees.diffs.hunks import Hunk, HunkLine
from worktrees.safety.path_rules import escape_path

MAX_VIEW_CHARS = 200_000
_LINE_CHARS = 2_000
_MAX_NAMES = 400
_NOTHING = "(without comments, docstrings and hidden characters, nothing of the change is left)"
_AS_IT_IS = "its comments could not be told from its code for sure, so it is shown as it is"

FileSides = tuple[bytes | None, bytes | None]
"""A file's content before and after; None where there is none, or too much of it to be read."""


class _Row(NamedTuple):
    """A line of a view: `+`, `-` or a space, its number on its own side, its text."""

    sign: str
    number: int
    text: str

    def __str__(self) -> str:
        """Return the row as it is shown, a long one cut."""
        shown = f"{self.sign}{self.number:>6}  {self.text[:_LINE_CHARS]}"
        left = len(self.text) - _LINE_CHARS
        return f"{shown} [{left} more characters of this line]" if left > 0 else shown


def build_diff_view(text: str, changed: Diff, unseen: Collection[str] = ()) -> ReviewMaterial:
    """Return the change as it is; `text` is git's patch, bounded, which does not hold all of the `unseen` files."""
    places = {}
    for file in changed.files:
        if file.path in unseen:
            continue
        spans = tuple(chain.from_iterable(map(_list_spans, file.hunks)))
        for path in filter(None, (file.path, file.old_path)):
            places[escape_path(path)] = spans
    return ReviewMaterial(text=text, places=places)


def build_code_view(changed: Diff, contents: Mapping[str, FileSides]) -> ReviewMaterial:
    """Return the change without what only speaks to readers: comments, docstrings, hidden characters, addresses.

    Every line has its number. Blocks while Python is parsed.

    Args:
        changed: what differs.
        contents: both sides of each changed file, by its new path.
    """
    parts: list[str] = []
    places: dict[str, tuple[LineRange, ...]] = {}
    has_content = False
    for file in changed.files:
        note, rows = _build_rows(file, contents.get(file.path, (None, None)))
        parts += [_add_note(_build_title(file), note), *map(str, rows), ""]
        for path in filter(None, (file.path, file.old_path)):
            places[_clean_name(path)] = _join_runs(row.number for row in rows)
        has_content = has_content or bool(rows) or _is_more_than_text(file)
    if not has_content:
        parts.append(_NOTHING)
    return ReviewMaterial(text="\n".join(parts), places=places)


def build_codebase_view(files: Mapping[str, bytes | None], gone: Sequence[str], names: Sequence[str]) -> ReviewMaterial:
    """Return the changed files as they are now, not what was changed in them, and what lies around them.

    Args:
        files: the content of every changed file that there is; None where it is too large.
        gone: paths that are not there any more.
        names: all paths of the tree.
    """
    parts: list[str] = []
    places: dict[str, tuple[LineRange, ...]] = {}
    left = MAX_VIEW_CHARS
    for path, content in files.items():
        lines, note = _read_lines(content, left)
        shown = map(reviewer_addresses.escape_hidden_text, lines)
        rows = [str(_Row(" ", number, line)) for number, line in enumerate(shown, start=1)]
        left -= sum(map(len, rows))
        parts += [_add_note(escape_path(path), note), *rows, ""]
        places[escape_path(path)] = ()
        if lines:
            places[escape_path(path)] = ((1, len(lines)),)
    for path in gone:
        parts.append(f"{escape_path(path)} is not there")
    neighbours = list(map(escape_path, _list_neighbours([*files, *gone], names)))
    parts += ["", "In the same directories and at the top:", *limit_lines(neighbours, _MAX_NAMES)]
    return ReviewMaterial(text="\n".join(parts), places=places)


def _clean_name(path: str) -> str:
    return escape_path(reviewer_addresses.remove_addresses_from_name(reviewer_addresses.remove_hidden_text(path)))


def _list_spans(hunk: Hunk) -> Iterator[LineRange]:
    for start, length in ((hunk.new_start, hunk.new_length), (hunk.old_start, hunk.old_length)):
        if length:
            yield start, start + length - 1


def _build_title(file: FileDiff) -> str:
    title = f"{_clean_name(file.path)}: {file.status}"
    if file.old_path:
        title = f"{title} from {_clean_name(file.old_path)}"
    if file.old_mode and file.new_mode != file.old_mode:
        title = f"{title}, mode {file.old_mode} -> {file.new_mode}"
    return title


def _add_note(title: str, note: str) -> str:
    return f"{title} ({note})" if note else title


def _is_more_than_text(file: FileDiff) -> bool:
    """Return True if it changes something that is no text: a file's name, mode or bytes, or its existence."""
    return file.is_binary or file.is_opaque or file.old_path is not None or file.old_mode != file.new_mode


def _build_rows(file: FileDiff, sides: FileSides) -> tuple[str, list[_Row]]:
    """Return a note on a file, and its rows."""
    if file.is_binary:
        return "binary, not shown", []
    if file.is_opaque:
        return "too large, not shown", []
    old = _strip_side(file.old_path or file.path, sides[0], file.old_mode)
    new = _strip_side(file.path, sides[1], file.new_mode)
    if old is None or new is None:
        lines = chain.from_iterable(hunk.lines for hunk in file.hunks)
        return _AS_IT_IS, list(map(_build_row, lines))
    rows: list[_Row] = []
    for hunk in file.hunks:
        rows += _build_code_rows(hunk, old, new)
    if file.hunks and not rows:
        return "nothing but comments or docstrings differ", rows
    return "", rows


def _strip_side(path: str, content: bytes | None, mode: str | None) -> Sequence[str] | None:
    """Return the lines of one side without comments, none where there is no file; None if nobody can tell them."""
    if content is not None:
        return strip_comments(path, content)
    if mode is None:
        return ()
    return None


def _build_row(line: HunkLine, sides: tuple[Sequence[str], Sequence[str]] | None = None) -> _Row:
    """Return a line as it stands on its own side, where the sides can be told, else as it is."""
    side, number, text = 1, line.new_number or 0, line.text
    if line.kind == "-":
        side, number = 0, line.old_number or 0
    if sides is not None:
        text = sides[side][number - 1] if 0 < number <= len(sides[side]) else ""
    return _Row(line.kind, number, _clean_line(text))


def _build_code_rows(hunk: Hunk, old: Sequence[str], new: Sequence[str]) -> list[_Row]:
    """Return the rows of a hunk that still hold something; none if no change is left in it."""
    rows: list[_Row] = []
    has_change = False
    for is_context, lines in groupby(hunk.lines, key=lambda line: line.kind == " "):
        held = []
        for line in lines:
            row = _build_row(line, (old, new))
            if row.text.strip():
                held.append(row)
        if not is_context:
            held = _mark_unchanged(held)
            has_change = has_change or any(row.sign != " " for row in held)
        rows += held
    return rows if has_change else []


def _mark_unchanged(rows: Sequence[_Row]) -> list[_Row]:
    """Return changed rows, of which those that differ in nothing any more are context."""
    old = [row for row in rows if row.sign == "-"]
    new = [row for row in rows if row.sign == "+"]
    if [row.text for row in old] != [row.text for row in new]:
        return [*old, *new]
    return [row._replace(sign=" ") for row in new]


def _clean_line(text: str) -> str:
    """Return a line without what only speaks to reviewers; what is cut off when it is shown stays, to be compared."""
    text = reviewer_addresses.remove_hidden_text(text)
    return reviewer_addresses.remove_addresses(text[:_LINE_CHARS]) + text[_LINE_CHARS:]


def _join_runs(numbers: Iterable[int]) -> tuple[LineRange, ...]:
    """Return numbers as runs without a gap."""
    spans: list[LineRange] = []
    for number in sorted(set(numbers)):
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return tuple(spans)


def _read_lines(content: bytes | None, most_chars: int) -> tuple[list[str], str]:
    """Return the first lines of a content, and a note on the rest."""
    if content is None:
        return [], "too large, not shown"
    if is_binary(content):
        return [], "binary, not shown"
    if not content:
        return [], "empty"
    lines = content.decode("utf-8", "replace").removesuffix("\n").split("\n")
    for shown, line in enumerate(lines):
        most_chars -= min(len(line), _LINE_CHARS) + 10
        if most_chars < 0:
            return lines[:shown], f"{len(lines) - shown} of its {len(lines)} lines are not shown"
    return lines, ""


def _list_neighbours(paths: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the directories at the top, and the files at the top and in the directories of these paths."""
    folders = {""}
    for path in paths:
        folders.add(path.rpartition("/")[0])
    near, top = [], set()
    for name in names:
        if name.rpartition("/")[0] in folders:
            near.append(name)
        if "/" in name:
            top.add(name.partition("/")[0] + "/")
    return [*sorted(top), *near]

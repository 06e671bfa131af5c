"""A change as rows for a screen: one below the other or side by side, with where each row stands in the files."""

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from operator import itemgetter
from types import MappingProxyType
from typing import Literal, TypeAlias

from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.tui.rows.text_plots import Span, cut_spans
from worktrees.diffs.file_diffs import FileDiff
from worktrees.diffs.hunks import Hunk, HunkLine

_LINE_CHARS = 4_000
_NUMBER = 5
_STYLES = {"+": "added", "-": "removed", " ": ""}
_MARK = "●"
CommentTexts: TypeAlias = Mapping[tuple[str, int], str]
"""The comments on lines, by path and by number."""
NO_COMMENTS: CommentTexts = MappingProxyType({})


@dataclass(frozen=True)
class DiffRow:
    """A file's head, a hunk's head, a remark, a line, or a comment on the line above it.

    `old` and `new` are the line on either side, if it is there. Side by side, both may be different lines.
    `commented` is the number of the line that has a comment, in its row and in that of the comment.
    """

    kind: Literal["file", "hunk", "note", "line", "comment"]
    path: str
    text: str = ""
    old: HunkLine | None = None
    new: HunkLine | None = None
    commented: int | None = None

    @property
    def number(self) -> int | None:
        """The line's number after the change, before it if it is gone; None for heads and remarks."""
        if self.commented is not None:
            return self.commented
        if self.new is not None:
            return self.new.new_number
        return self.old.old_number if self.old else None

    @property
    def anchor(self) -> tuple[str, int | str | None]:
        """A value that tells the row from others of its file, also when rows are built another way."""
        return self.kind, self.number if self.kind in {"line", "comment"} else self.text


@dataclass(frozen=True)
class DiffOptions:
    """`is_wide` puts what was before and what is now side by side; `ignores_space` hides changes of white space."""

    is_wide: bool = False
    ignores_space: bool = False


DEFAULT_OPTIONS = DiffOptions()


class DiffRows:
    """The rows of a change."""

    def __init__(
        self,
        files: Sequence[FileDiff],
        how: DiffOptions = DEFAULT_OPTIONS,
        unloaded: Container[str] = (),
        comments: CommentTexts = NO_COMMENTS,
    ) -> None:
        """`unloaded` are the paths of files whose hunks have not been read yet."""
        self.options = how
        self._rows: list[DiffRow] = []
        for file in files:
            self._rows += _add_comments(list(_build_file_rows(file, how, file.path in unloaded)), comments)
        self._heads: dict[str, list[int]] = {"file": [], "hunk": []}
        for index, row in enumerate(self._rows):
            if row.kind in self._heads:
                self._heads[row.kind].append(index)

    def __len__(self) -> int:
        return len(self._rows)

    def get_row(self, index: int) -> DiffRow:
        """Return one row, from 0 on."""
        return self._rows[index]

    def find_next_head(self, kind: Literal["file", "hunk"], index: int, by: int) -> int:
        """Return the next head after a row, or the one before if `by` is negative; the row itself if there is none."""
        heads = self._heads[kind]
        place = bisect_right(heads, index) if by > 0 else bisect_left(heads, index) - 1
        return heads[place] if 0 <= place < len(heads) else index

    def find_file_row(self, path: str) -> int:
        """Return the first row of a file; 0 if there is none."""
        return next((index for index in self._heads["file"] if self._rows[index].path == path), 0)

    def find_nearest_row(self, row: DiffRow) -> int:
        """Return the row of the same line as a row of other rows; else the head of its file."""
        start = self.find_file_row(row.path)
        for index in range(start, len(self)):
            other = self._rows[index]
            if other.path != row.path:
                break
            if other.anchor == row.anchor:
                return index
        return start

    def render_row(self, index: int, width: int) -> list[Span]:
        """Return a row as texts with the names of their styles; side by side, `width` cells are shared."""
        row = self._rows[index]
        if row.kind == "file":
            return [(row.text, "title")]
        if row.kind == "comment":
            return [(" " * (2 * _NUMBER + 1), ""), (f"{_MARK} {row.text}", "ask")]
        if row.kind != "line":
            return [(row.text, "dim")]
        if self.options.is_wide:
            return _render_beside(row, width)
        return _render_below(row)


def _build_file_rows(file: FileDiff, how: DiffOptions, is_unloaded: bool) -> Iterator[DiffRow]:
    yield DiffRow("file", file.path, render_file_head(file))
    for remark in _list_remarks(file, is_unloaded):
        yield DiffRow("note", file.path, f"  {remark}")
    for hunk in file.hunks:
        groups = list(_group_changes(hunk, ignores_space=how.ignores_space))
        if any(gone != came for gone, came in groups):
            yield DiffRow("hunk", file.path, _render_hunk_head(hunk))
            for gone, came in groups:
                yield from _build_line_rows(file.path, gone, came, how.is_wide)


def _add_comments(rows: list[DiffRow], comments: CommentTexts) -> list[DiffRow]:
    """Return the rows of one file with a row for each comment below its line.

    Of a number that a removed and an added line have, the comment is on the added one, which comes later.
    """
    places: dict[int, int] = {}
    for index, row in enumerate(rows):
        if row.number is not None and (row.path, row.number) in comments:
            places[row.number] = index
    found = rows.copy()
    for number, index in sorted(places.items(), key=itemgetter(1), reverse=True):
        row = replace(rows[index], commented=number)
        text = _clean_text(comments[row.path, number]).replace("\n", " ")
        found[index : index + 1] = [row, DiffRow("comment", row.path, text, commented=number)]
    return found


def _list_remarks(file: FileDiff, is_unloaded: bool) -> Iterator[str]:
    if file.old_mode and file.new_mode and file.old_mode != file.new_mode:
        yield f"mode {file.old_mode} -> {file.new_mode}"
    if file.is_binary:
        yield "a binary file"
    if file.is_opaque:
        yield "too large to be shown: orchestrate diff prints it"
    if is_unloaded:
        yield f"{file.added + file.removed:,} lines: enter shows them"


def render_file_head(file: FileDiff) -> str:
    """Return the head of a file, as `src/log.py  modified  +44 -12`."""
    name = " -> ".join(filter(None, (file.old_path, file.path)))
    return f"{_clean_text(name)}  {file.status}  +{file.added} -{file.removed}"


def _render_hunk_head(hunk: Hunk) -> str:
    spans = f"-{hunk.old_start},{hunk.old_length} +{hunk.new_start},{hunk.new_length}"
    return f"@@ {spans} @@ {_clean_text(hunk.section)}".rstrip()


_Group = tuple[tuple[HunkLine, ...], tuple[HunkLine, ...]]
"""Lines that were removed and those that came in their place; one line on both sides is no change."""


def _group_changes(hunk: Hunk, *, ignores_space: bool) -> Iterator[_Group]:
    by_kind: dict[str, list[HunkLine]] = {"-": [], "+": []}
    for line in hunk.lines:
        if line.kind == " " or (line.kind == "-" and by_kind["+"]):
            yield from _group_lines(by_kind["-"], by_kind["+"], ignores_space)
            by_kind = {"-": [], "+": []}
        if line.kind == " ":
            yield (line,), (line,)
        else:
            by_kind[line.kind].append(line)
    yield from _group_lines(by_kind["-"], by_kind["+"], ignores_space)


def _group_lines(gone: Sequence[HunkLine], came: Sequence[HunkLine], ignores_space: bool) -> Iterator[_Group]:
    if ignores_space and list(map(_strip_spaces, gone)) == list(map(_strip_spaces, came)):
        for old, new in zip(gone, came, strict=True):
            same = replace(new, kind=" ", old_number=old.old_number)
            yield (same,), (same,)
    elif gone or came:
        yield tuple(gone), tuple(came)


def _strip_spaces(line: HunkLine) -> str:
    return "".join(line.text.split())


def _build_line_rows(
    path: str, gone: tuple[HunkLine, ...], came: tuple[HunkLine, ...], is_wide: bool
) -> Iterator[DiffRow]:
    if is_wide or gone == came:
        for old, new in zip_longest(gone, came):
            yield DiffRow("line", path, old=old, new=new)
    else:
        for line in gone:
            yield DiffRow("line", path, old=line)
        for line in came:
            yield DiffRow("line", path, new=line)


def _render_below(row: DiffRow) -> list[Span]:
    line = row.new or row.old
    assert line is not None
    numbers = f"{_format_number(row.old, 'old_number')} {_format_number(row.new, 'new_number')}"
    return [(numbers, "dim"), _render_mark(row), (f"{line.kind} {_render_text(line)}", _STYLES[line.kind])]


def _render_mark(row: DiffRow) -> Span:
    """Return the cell between the numbers and the text of a line: a mark if it has a comment."""
    return (" ", "") if row.commented is None else (_MARK, "ask")


def _render_beside(row: DiffRow, width: int) -> list[Span]:
    half = max((width - 3) // 2, _NUMBER + 4)
    left = cut_spans(_render_half(row.old, "old_number"), half)
    right = _render_half(row.new, "new_number")
    room = half - sum(len(text) for text, _ in left)
    return [*left, (" " * room, ""), (" |", "dim"), _render_mark(row), *right]


def _render_half(line: HunkLine | None, side: str) -> list[Span]:
    if line is None:
        return []
    return [(f"{_format_number(line, side)} ", "dim"), (f"{line.kind} {_render_text(line)}", _STYLES[line.kind])]


def _format_number(line: HunkLine | None, side: str) -> str:
    """Return the line's `old_number` or `new_number`, or as many blanks."""
    number: int | None = getattr(line, side, None)
    return f"{'' if number is None else number:>{_NUMBER}}"


def _render_text(line: HunkLine) -> str:
    text = _clean_text(line.text[:_LINE_CHARS])
    if len(line.text) > _LINE_CHARS:
        text += f" [{len(line.text) - _LINE_CHARS:,} more characters]"
    if not line.ends_with_newline:
        text += "  (no line end)"
    return text


def _clean_text(text: str) -> str:
    return strip_controls(text).expandtabs(4).replace("\n", " ")

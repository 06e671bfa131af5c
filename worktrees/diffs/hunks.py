"""The hunks of one file's patch, through unidiff, which is shown nothing but hunks: names and headers are git's."""

from collections.abc import Iterator
from dataclasses import dataclass

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk as ParsedHunk
from unidiff.patch import PatchSet

_ADDED, _REMOVED, _CONTEXT, _NO_NEWLINE = "+", "-", " ", "\\"


@dataclass(frozen=True)
class HunkLine:
    """A line of a hunk: `kind` is `+`, `-` or a space, numbers count from 1, `text` is without its line feed."""

    kind: str
    old_number: int | None
    new_number: int | None
    text: str
    ends_with_newline: bool = True


@dataclass(frozen=True)
class Hunk:
    """A block of changed lines with their context; `section` is what git found above it, such as a function's head."""

    old_start: int
    old_length: int
    new_start: int
    new_length: int
    section: str
    lines: tuple[HunkLine, ...]


def parse_hunks(patch: str) -> tuple[Hunk, ...]:
    """Return the hunks of a patch of one file, with or without the header before them; empty if it has none.

    Raises:
        ValueError: what stands there are no hunks.
    """
    start = f"\n{patch}".find("\n@@ ")
    if start < 0:
        return ()
    # lines end with line feeds only: splitlines would also split at form feeds and lone carriage returns
    lines = patch[start:].removesuffix("\n").split("\n")
    try:
        parsed = PatchSet(["--- old\n", "+++ new\n", *(f"{line}\n" for line in lines)])
    except UnidiffParseError as error:
        raise ValueError(f"not a unified diff: {error}") from error
    return tuple(_convert_hunk(hunk) for file in parsed for hunk in file)


def _convert_hunk(parsed: ParsedHunk) -> Hunk:
    return Hunk(
        old_start=parsed.source_start,
        old_length=parsed.source_length,
        new_start=parsed.target_start,
        new_length=parsed.target_length,
        section=parsed.section_header,
        lines=tuple(_split_lines(parsed)),
    )


def _split_lines(parsed: ParsedHunk) -> Iterator[HunkLine]:
    items = list(parsed)
    for item, following in zip(items, [*items[1:], None], strict=True):
        if item.line_type == _NO_NEWLINE:
            continue
        if item.line_type in (_ADDED, _REMOVED):
            kind = item.line_type
        else:
            kind = _CONTEXT
        ends = following is None or following.line_type != _NO_NEWLINE
        yield HunkLine(kind, item.source_line_no, item.target_line_no, item.value.removesuffix("\n"), ends)

"""Words with styles on a terminal: whatever a model, a tool or a repository wrote becomes cells that only lie there.

Control characters, escape sequences and markup never reach the terminal as such; a style is a name that the
dashboard's theme knows, never part of a text.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.errors import StyleSyntaxError
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import strip_controls

Span: TypeAlias = tuple[str, str]
"""Words and the name of their style; an empty name is the style of what is around."""
Cell: TypeAlias = str | Span | list[Span]
"""The content of a cell of a table or of a line of a text."""
StyleLookup: TypeAlias = Callable[[str], Style]


class LeftTruncatedText(str):
    """Words of which the end matters most, such as a path: what does not fit is left out in front."""

    __slots__ = ()


_COLOURS = compile_lazily(r"\x1b\[[0-9;:]*m")
_SELECTORS = compile_lazily("[\ufe00-\ufe0f]")  # terminals differ in how wide these make the character before them
_TAB = 8


def get_style_lookup(app: object) -> StyleLookup:
    """Return the styles that an app knows; without any, names are read as `bold red`."""
    look_up: StyleLookup = getattr(app, "get_style", _plain_style)
    return look_up


def _plain_style(name: str) -> Style:
    try:
        return Style.parse(name)
    except StyleSyntaxError:
        return Style.null()


def clean_line(text: str) -> str:
    """Return one line without anything that a terminal would act on; tabs become spaces."""
    if text.isprintable() and text.isascii():
        return text
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    return _SELECTORS.sub("", strip_controls(text.replace("\n", " ").expandtabs(_TAB)))


def build_spans(cell: Cell, limit: int | None = None) -> list[Span]:
    """Return a cell's clean spans, of at most `limit` cells; what is left out is counted at the end."""
    spans = _list_spans(cell)
    if limit is None:
        return [(clean_line(text), style) for text, style in spans]
    return _limit_spans(spans, limit)


def _list_spans(cell: Cell) -> list[Span]:
    if isinstance(cell, str):
        return [(cell, "")]
    if isinstance(cell, tuple):
        return [cell]
    return cell


def _limit_spans(spans: Sequence[Span], limit: int) -> list[Span]:
    """Return no more of a long text than can be shown."""
    found: list[Span] = []
    left = limit
    for number, (text, style) in enumerate(spans):
        shown = clean_line(text[: 4 * limit])
        width = cell_len(shown)
        if width > left or len(text) > 4 * limit:
            shown = set_cell_size(shown, min(left, width))
            hidden = sum(len(one) for one, _ in spans[number:]) - len(shown)
            return [*found, (shown, style), (f" … {hidden:,} more characters", "muted")]
        found.append((shown, style))
        left -= width
    return found


def get_clean_text(cell: Cell) -> str:
    """Return all clean words of a cell."""
    return clean_line(get_raw_text(cell))


def get_raw_text(cell: Cell) -> str:
    """Return the words as they came, for searching; they may hold control characters."""
    return "".join(map(itemgetter(0), _list_spans(cell)))


def split_spans(spans: Iterable[Span], places: Sequence[int]) -> list[list[Span]]:
    """Split spans at characters (ascending, counted from the first span's start) into one piece more."""
    found: list[list[Span]] = [[]]
    cuts = list(places)
    position = 0
    for whole, style in spans:
        text = whole
        while cuts and position + len(text) >= cuts[0]:
            head, text = text[: cuts[0] - position], text[cuts[0] - position :]
            if head:
                found[-1].append((head, style))
            found.append([])
            position = cuts.pop(0)
        if text:
            found[-1].append((text, style))
        position += len(text)
    return found + [[] for _ in cuts]


def build_strip(spans: Iterable[Span], style_of: StyleLookup) -> Strip:
    """Return clean spans as a strip of Textual."""
    return Strip([Segment(text, style_of(style) if style else None) for text, style in spans if text])


def cover_strip(strip: Strip, style: Style) -> Strip:
    """Return a strip in one style, whatever colours its parts had: their bold type and underlines stay."""
    return Strip(Segment.apply_style(strip, post_style=style), strip.cell_length)


def fit_cell(cell: Cell, width: int, style_of: StyleLookup, *, to_the_right: bool = False) -> list[Segment]:
    """Return a cell in exactly `width` cells, at least one; what does not fit ends in `…`, or begins with it."""
    if isinstance(cell, LeftTruncatedText):
        cell = _end_of(cell, width)
    strip = build_strip(build_spans(cell, width * 2), style_of)
    spare = width - strip.cell_length
    if spare < 0:
        shown = list(strip.crop(0, width - 1))
        return [*shown, Segment("…", shown[-1].style if shown else None)]
    if not spare:
        return list(strip)
    if to_the_right:
        return [Segment(" " * spare), *strip]
    return [*strip, Segment(" " * spare)]


def _end_of(text: str, width: int) -> str:
    shown = clean_line(text[-4 * width :])
    if cell_len(shown) <= width and len(text) <= 4 * width:
        return shown
    while cell_len(shown) >= width:
        shown = shown[1:]
    return f"…{shown}"

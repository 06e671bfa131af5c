"""Words of strangers as cells, and columns that fit."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from orchestrator.tui.widgets.styled_text import LeftTruncatedText, build_spans, clean_line, fit_cell, split_spans
from orchestrator.tui.widgets.table_rows import Column, lay_out_columns

STYLES = st.sampled_from(["", "bold", "no such style"])
SPANS = st.lists(st.tuples(st.text(max_size=20), STYLES), max_size=5)
COLUMNS = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 4), st.booleans()), min_size=1, max_size=9)


def nothing(_name: str) -> Style:
    return Style.null()


@given(st.text())
def test_nothing_that_a_terminal_acts_on_is_left(text: str) -> None:
    cleaned = clean_line(f"\x1b[31m{text}\x1b]52;c;aGk=\x07")
    assert not any(char < " " or "\x7f" <= char < "\xa0" for char in cleaned)
    assert "\x1b" not in cleaned


@given(st.one_of(st.text(), SPANS), st.integers(1, 40), st.booleans())
def test_a_cell_is_as_wide_as_its_column(cell: str | list[tuple[str, str]], width: int, to_the_right: bool) -> None:
    segments = fit_cell(cell, width, nothing, to_the_right=to_the_right)
    assert sum(cell_len(segment.text) for segment in segments) == width


@given(st.text(max_size=200), st.integers(2, 40))
def test_a_path_that_does_not_fit_keeps_its_end(path: str, width: int) -> None:
    shown = "".join(segment.text for segment in fit_cell(LeftTruncatedText(path), width, nothing))
    assert cell_len(shown) == width
    whole = clean_line(path).rstrip()
    assert shown.rstrip() == whole or (shown[0] == "…" and whole.endswith(shown[1:].rstrip()[-1:]))


def test_of_a_long_path_the_name_of_the_file_is_seen() -> None:
    (segment,) = fit_cell(LeftTruncatedText("simplejson/tests/test_unicode.py"), 18, nothing)
    assert segment.text == "…s/test_unicode.py"


def test_columns_that_grow_share_what_is_left() -> None:
    columns = [Column("a", "", 10, grows=True), Column("b", "", 4), Column("c", "", 20, grows=True)]
    assert [place.width for place in lay_out_columns(columns, 61)] == [22, 4, 31]


@given(SPANS, st.lists(st.integers(0, 120), max_size=6).map(sorted))
def test_pieces_are_the_whole_cut_where_it_was_asked_for(spans: list[tuple[str, str]], cuts: list[int]) -> None:
    whole = "".join(text for text, _ in spans)
    found = ["".join(text for text, _ in piece) for piece in split_spans(spans, cuts)]
    ends = [0, *(min(cut, len(whole)) for cut in cuts), len(whole)]
    assert found == [whole[start:end] for start, end in pairwise(ends)]


@given(st.text(min_size=1), st.integers(1, 50))
def test_what_is_left_out_of_a_long_text_is_counted(text: str, limit: int) -> None:
    long = text * (4 * limit + 1)
    shown = "".join(part for part, _ in build_spans(long, limit))
    assert shown.endswith("more characters")
    assert cell_len(shown.partition(" … ")[0]) <= limit


@given(COLUMNS, st.integers(1, 200))
def test_columns_lie_beside_each_other_within_the_width_and_the_important_ones_stay(
    made: list[tuple[int, int, bool]], width: int
) -> None:
    columns = [Column(str(n), "", wide, priority, grows) for n, (wide, priority, grows) in enumerate(made)]
    found = lay_out_columns(columns, width, 2)
    assert all(place.width > 0 and place.x + place.width <= width for place in found)
    assert all(a.x + a.width < b.x for a, b in pairwise(found))
    shown = {place.column for place in found}
    gone = [column.priority for column in columns if column not in shown and column.priority]
    assert all(column.priority <= min(gone) for column in shown if gone)

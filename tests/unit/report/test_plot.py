"""Curves in characters: always as large as asked for, never a wrong size, nothing that is there unseen."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.tui.rows.burndown_chart import build_burndown_series, render_burndown_chart
from orchestrator.tui.rows.text_plots import (
    ASCII_BARS,
    BARS,
    plot_area,
    plot_sparkline,
    plot_stacked_areas,
    sample_step_curve,
)
from tests.running.migrated import told

SIZES = st.floats(0, 1e6)


@given(st.lists(SIZES, max_size=50), st.integers(1, 20), SIZES, st.sampled_from((BARS, ASCII_BARS)))
def test_an_area_has_its_size_and_shows_whatever_is_more_than_nothing(
    values: list[float], height: int, top: float, bars: str
) -> None:
    rows = plot_area(values, height, top, bars)
    assert [len(row) for row in rows] == [len(values)] * height
    for column, value in enumerate(values):
        cells = "".join(row[column] for row in rows)
        assert (cells.strip() != "") == (value > 0 and top > 0)
        assert cells.lstrip() == cells.strip()
        assert set(cells.lstrip()[1:]) <= {bars[-1]}


@given(st.lists(SIZES, min_size=2, max_size=50), st.integers(1, 20))
def test_what_is_more_never_stands_lower(values: list[float], height: int) -> None:
    ordered = sorted(values)
    rows = plot_area(ordered, height, ordered[-1])
    heights = [sum(row[column] != " " for row in rows) for column in range(len(ordered))]
    assert heights == sorted(heights)


@given(st.lists(st.tuples(st.floats(0.1, 100), SIZES), min_size=1, max_size=30), st.integers(1, 200))
def test_a_step_curve_holds_its_last_value_and_ends_with_the_last_one(
    steps: list[tuple[float, float]], width: int
) -> None:
    times, at = [], 0.0
    for length, _ in steps:
        times.append(at)
        at += length
    values = [value for _, value in steps]
    found = sample_step_curve(times, values, width, at)
    assert len(found) == width
    assert found[0] == values[0]
    assert set(found) <= set(values)
    assert width == 1 or found[-1] == values[-1]


PARTS = st.dictionaries(st.sampled_from("abc"), st.floats(0, 1e4), max_size=3)


@given(st.lists(PARTS, min_size=1, max_size=30), st.integers(1, 20))
def test_parts_of_a_whole_fill_their_column_in_their_order(columns: list[dict[str, float]], height: int) -> None:
    rows = ["".join(text for text, _ in row) for row in plot_stacked_areas(columns, {n: (n, n) for n in "abc"}, height)]
    assert [len(row) for row in rows] == [len(columns)] * height
    for place, parts in enumerate(columns):
        cells = "".join(row[place] for row in reversed(rows))
        assert cells == "".join(sorted(cells))
        assert (" " in cells) == (sum(parts.values()) <= 0)


@given(st.lists(st.floats(0, 1e3), max_size=300), st.integers(1, 80))
def test_a_sparkline_is_never_wider_than_asked_for(values: list[float], width: int) -> None:
    assert len(plot_sparkline(values, width)) <= width
    assert len(plot_sparkline(values, width)) <= len(values)


@given(st.integers(0, 250), st.integers(0, 60), st.sampled_from(("sites", "files")), st.booleans())
def test_a_chart_fits_into_any_room(width: int, height: int, what: str, is_ascii: bool) -> None:
    rows = render_burndown_chart(build_burndown_series(told()), what, width, height, is_ascii=is_ascii)  # type: ignore[arg-type]
    assert len(rows) in {0, height}
    words = ["".join(text for text, _ in row) for row in rows]
    assert all(len(line) <= width for line in words)
    assert not is_ascii or all(line.isascii() for line in words)


def test_a_chart_tells_its_measure_and_where_something_happened() -> None:
    rows = [
        "".join(text for text, _ in row)
        for row in render_burndown_chart(build_burndown_series(told()), "files", 70, 12)
    ]
    assert rows[0].startswith("     8│")
    assert "┴" in rows[-2]
    assert "files, over" in rows[-1] and "█ landed 3" in rows[-1] and "▒ failed 2" in rows[-1]
    assert render_burndown_chart(build_burndown_series(told()), "sites", 10, 3) == []

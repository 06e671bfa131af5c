"""The first line of the dashboard."""

from decimal import Decimal
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.fold.projection import fold_events
from orchestrator.tui.frame_lines import (
    HeaderPart,
    build_header_parts,
    fit_header_parts,
    format_elapsed,
    format_short_count,
    format_spent,
    render_share_bar,
)
from tests.running.migrated import told
from tests.tui.sources import IN_THE_MIDDLE, kept

_PARTS = st.lists(
    st.builds(
        HeaderPart,
        text=st.text("ab ", min_size=1, max_size=40),
        rank=st.integers(0, 9),
        short=st.text("ab", max_size=3),
    ),
    min_size=1,
)


@cache
def words(name: str, until: int, *, is_at_work: bool) -> str:
    state = fold_events(kept(name)[:until])
    return "  ".join(part.text for part in build_header_parts(state, state.last_at, is_at_work=is_at_work))


def test_it_says_which_run_how_far_and_what_it_took() -> None:
    told = words("goal.v2", IN_THE_MIDDLE, is_at_work=True)
    assert told.startswith("Add discounts  20261120-131127-e989  orchestrate/add-discounts-e989@7562879  00:00:0")
    assert "3 in review 0/4  workers 0/4  tasks 0/4 merged  " in told
    assert words("goal.v2", 302, is_at_work=False).count("done  tasks 4/4 merged") == 1
    assert "stopped" in words("goal.v2", IN_THE_MIDDLE, is_at_work=False)


def test_of_a_migration_it_counts_files() -> None:
    state = told()
    texts = [part.text for part in build_header_parts(state, None, is_at_work=False)]
    assert texts[-3:-1] == [
        "files 3/8 merged, 2 failed",
        "0 tok",
    ]


def test_wide_words_take_the_room_that_they_have_on_a_terminal() -> None:
    spans = fit_header_parts(
        [
            HeaderPart("漢字" * 20, "title", 9, "漢字"),
            HeaderPart("r-7f3a"),
            HeaderPart("RW", "", 8),
            HeaderPart("LIVE"),
        ],
        40,
    )
    assert [text for text, _ in spans if text.strip()] == ["漢字", "r-7f3a", "RW", "LIVE"]


def test_before_the_first_event_there_is_nothing_to_say() -> None:
    assert [part.text for part in build_header_parts(fold_events([]), None, is_at_work=False)] == ["no event yet"]


@given(_PARTS, st.integers(0, 200))
def test_it_is_cut_to_any_width_and_what_matters_most_stays(parts: list[HeaderPart], width: int) -> None:
    spans = fit_header_parts(parts, width)
    told = "".join(text for text, _ in spans)
    least = min(part.rank for part in parts)
    assert len(told) <= width or len(spans) == 1
    assert any(
        told.endswith(part.text) or part.text in told or part.short in told for part in parts if part.rank == least
    )


@pytest.mark.parametrize(
    ("usage", "limit", "shown"),
    [
        (Usage(), 0.0, "$0.00"),
        (Usage(calls=2, cost_usd=Decimal("18.42")), 40.0, "$18.42 of $40.00"),
        (Usage(calls=2, unpriced_calls=2), 40.0, "unknown of $40.00"),
        (Usage(calls=2, cost_usd=Decimal("0.42"), unpriced_calls=1), 0.0, "$0.42 + unknown"),
    ],
)
def test_an_unknown_price_is_never_nothing(usage: Usage, limit: float, shown: str) -> None:
    assert format_spent(usage, limit) == shown


def test_figures_are_short() -> None:
    assert [format_short_count(n) for n in (0, 999, 1_000, 212_400, 999_600, 9_120_000)] == [
        *("0", "999", "1k", "212k", "1.0M", "9.1M")
    ]
    assert [format_elapsed(s) for s in (-1.0, 8047.9, 90_000.0)] == ["00:00:00", "02:14:07", "1d 01:00:00"]
    assert [render_share_bar(share) for share in (0.0, 0.46, 1.7)] == [
        "░░░░░░░░░░ 0%",
        "▓▓▓▓▓░░░░░ 46%",
        "▓▓▓▓▓▓▓▓▓▓ 170%",
    ]
    assert render_share_bar(0.46, is_ascii=True) == "#####..... 46%"

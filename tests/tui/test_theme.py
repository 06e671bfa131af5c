"""Colours that everybody can tell apart and read."""

import pytest

from orchestrator.report.rows.activity import STYLES as ROW_STYLES
from orchestrator.tui.theme import COLOUR_SCHEMES, STYLE_NAMES, ColourScheme, get_theme_style
from tests.tui.contrast import MIN_CONTRAST, compute_contrast


@pytest.mark.parametrize("palette", COLOUR_SCHEMES.values(), ids=lambda palette: palette.name)
def test_every_style_can_be_read_on_every_background(palette: ColourScheme) -> None:
    for background in (palette.background, palette.raised_background, palette.selected_background):
        seen = {name: compute_contrast(palette.get_colour(name), background) for name in STYLE_NAMES}
        assert {name: ratio for name, ratio in seen.items() if ratio < MIN_CONTRAST} == {}


def test_every_style_that_rows_name_is_one_that_the_theme_knows() -> None:
    known = {name: get_theme_style(name) for name in STYLE_NAMES}
    for name in ROW_STYLES:
        assert get_theme_style(name) == known[name.removeprefix("state-")], name
    assert get_theme_style("state-fail") != get_theme_style("state-done") != get_theme_style("state-queue")


def test_contrast_is_what_wcag_defines() -> None:
    assert compute_contrast("#000000", "#ffffff") == pytest.approx(21)
    assert compute_contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("palette", COLOUR_SCHEMES.values(), ids=lambda palette: palette.name)
def test_what_is_bad_is_never_told_from_what_is_good_by_red_and_green_alone(palette: ColourScheme) -> None:
    """As a deuteranope sees them (Machado 2009, full severity), blue and orange still differ."""
    for bad, good in (("removed", "added"), ("fail", "run"), ("ask", "run"), ("fail", "done")):
        assert _distance(palette.get_colour(bad), palette.get_colour(good)) > 60


def _distance(one: str, other: str) -> float:
    pairs = zip(_as_seen(one), _as_seen(other), strict=True)
    return float(sum((a - b) ** 2 for a, b in pairs) ** 0.5)


def _as_seen(colour: str) -> tuple[float, ...]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    rows = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
    return tuple(a * red + b * green + c * blue for a, b, c in rows)

"""What is really drawn, on every screen: without colours where nobody wants them, and legible in every theme."""

from collections.abc import Iterator, Sequence

import pytest
from rich.segment import Segment
from textual.strip import Strip

from orchestrator.report.rows.activity import ACTIVITY_GLYPHS, Activity
from orchestrator.tui.app import Dashboard
from orchestrator.tui.theme import COLOUR_SCHEMES
from tests.tui.asking import LANDING, LATER, TIERS, Asking
from tests.tui.contrast import MIN_CONTRAST, compute_contrast
from tests.tui.sources import Still, dashboard, kept, strips

_TABS = (("1",), ("2",), ("3",), ("4",), ("5",), ("6",))
SCREENS = {
    "goal": (
        *_TABS,
        ("1", "enter"),
        ("4", "space"),
        ("3", "enter"),
        ("question_mark",),
        ("slash", "a"),
        ("colon", "a"),
    ),
    "migration": (*_TABS, ("2", "tab", "enter")),
}


def source(name: str) -> Still:
    """A recorded run with people asked and something failed, or a migration."""
    return Asking(LATER, LANDING, *TIERS) if name == "goal" else Still(kept("migration.v1"))


async def drawn(
    app: Dashboard, screens: tuple[tuple[str, ...], ...], themes: Sequence[str]
) -> list[tuple[str, Segment]]:
    """Every piece that is on the screen after each of these keys, in each theme, with where that was."""
    pieces = []
    async with app.run_test(size=(120, 40)) as pilot:
        for keys in screens:
            await pilot.press(*keys)
            for theme in themes:
                app.theme = theme
                app.update_from_source()
                await pilot.pause()
                place = f"{theme} {' '.join(keys)}"
                pieces += [(place, segment) for strip in in_front(app) for segment in strip if segment.style]
            await pilot.press("escape", "escape")
    return pieces


def in_front(app: Dashboard) -> list[Strip]:
    """The lines of the screen; of a window above it, behind which all is dimmed, those of the window."""
    lines = strips(app)
    if not app.screen.is_modal:
        return lines
    region = app.screen.children[0].region
    return [line.crop(region.x, region.right) for line in lines[region.y : region.bottom]]


def colours(segment: Segment) -> Iterator[tuple[int, int, int]]:
    """Of what is written and of what it stands on."""
    style = segment.style
    for colour in (style.color, style.bgcolor) if style else ():
        if colour is not None:
            yield tuple(colour.get_truecolor())


@pytest.mark.extended
@pytest.mark.parametrize("name", SCREENS)
async def test_without_colours_every_screen_is_grey(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    pieces = await drawn(dashboard(source(name)), SCREENS[name], [*COLOUR_SCHEMES][:1])
    chromatic = {(keys, segment.text) for keys, segment in pieces for rgb in colours(segment) if len({*rgb}) > 1}
    assert chromatic == set()
    assert len({rgb for _, segment in pieces for rgb in colours(segment)}) > 3, "there still are light and dark"
    words = " ".join(segment.text for _, segment in pieces)
    assert all(
        f"{doing.render_label()} " in words
        for doing in ((Activity.ASK, Activity.RUN) if name == "goal" else (Activity.FAIL,))
    )


@pytest.mark.extended
@pytest.mark.parametrize("name", SCREENS)
async def test_all_that_is_written_on_any_screen_can_be_read(name: str) -> None:
    pale = {}
    for keys, segment in await drawn(dashboard(source(name)), SCREENS[name], [*COLOUR_SCHEMES]):
        style = segment.style
        if any(map(str.isalnum, segment.text)) and style and style.color and style.bgcolor:
            seen = compute_contrast(_hex(style.color.get_truecolor()), _hex(style.bgcolor.get_truecolor()))
            if seen < MIN_CONTRAST:
                pale[keys, segment.text.strip()] = round(seen, 2)
    assert pale == {}


def _hex(rgb: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*rgb)


def test_every_state_has_a_word_and_a_glyph_of_its_own_in_unicode_and_in_ascii() -> None:
    assert {*ACTIVITY_GLYPHS} == {*Activity}
    for is_ascii in (False, True):
        shown = [doing.render_label(is_ascii) for doing in Activity]
        assert len({label.split()[1] for label in shown}) == len({label.split()[0] for label in shown}) == len(Activity)
        assert is_ascii == all(label.isascii() for label in shown)

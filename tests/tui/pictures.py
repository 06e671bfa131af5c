"""Pictures of the guide: screens of a recorded run, or of another program's terminal, drawn in one way.

python -m tests.tui.pictures RUN_DIRECTORY docs/dashboard     six screens of the run of tests/running/fleet_story.py
python -m tests.tui.pictures --ansi FILE PICTURE.svg          what `tmux capture-pane -e` printed
"""

import sys
from collections.abc import Iterable
from pathlib import Path

import anyio
from rich.console import Console
from rich.segment import Segment
from rich.text import Text
from textual.strip import Strip

from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.tui.app import Dashboard
from orchestrator.tui.svg_film import render_film_svg, render_strip_svg
from orchestrator.tui.view_model import Connection
from tests.tui.sources import Sent, Still

SIZE = (120, 36)
SCREENS = {
    "fleet": (0.62, ("1",)),
    "plan": (0.62, ("2", "G")),
    "worker": (0.62, ("1", "enter", "d", *"jjjjjc", *"in cents?", "enter")),
    "merge": (0.75, ("3",)),
    "inbox": (0.62, ("4",)),
    "cost": (1.0, ("5",)),
}
"""By screen, the part of the run that has happened, and the keys that lead there."""


def draw_picture(strips: Iterable[Strip]) -> str:
    """Return the lines of a screen as SVG."""
    return render_film_svg([tuple(map(render_strip_svg, strips))], *SIZE)


async def draw_screen(run: Path, part: float, keys: Iterable[str]) -> str:
    """Return one screen of a recorded run."""
    directory = RunDirectory(run)
    events = tuple(read_all_events(directory.journal))
    connection = Connection.ENDED if part == 1 else Connection.LIVE
    source = Still(events, int(len(events) * part), connection, directory.path)
    app = Dashboard(source, Sent().doors)
    async with app.run_test(size=SIZE) as pilot:
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.6)
        return draw_picture(app.screen._compositor.render_strips())


def draw_terminal(text: str) -> str:
    """Return what a terminal showed, with its colours, as SVG."""
    console = Console(width=SIZE[0], color_system="truecolor", legacy_windows=False)
    strips = []
    for line in text.splitlines()[: SIZE[1]]:
        drawn = Text.from_ansi(line, no_wrap=True)
        strips.append(Strip(list(Segment.strip_links(drawn.render(console)))).adjust_cell_length(SIZE[0]))
    strips += [Strip.blank(SIZE[0])] * (SIZE[1] - len(strips))
    return draw_picture(strips)


def main(words: list[str]) -> None:
    """Write the pictures that are asked for."""
    if words[0] == "--ansi":
        Path(words[2]).write_text(draw_terminal(Path(words[1]).read_text(encoding="utf-8")), encoding="utf-8")
        return
    for name, (part, keys) in SCREENS.items():
        picture = anyio.run(draw_screen, Path(words[0]), part, keys)
        Path(words[1], f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

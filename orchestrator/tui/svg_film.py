"""A replay as one SVG picture that moves by itself, for where only pictures are shown. It needs nothing from elsewhere.

Every line that is ever seen stands in the file once; a frame is a list of lines, shown for a while by the page's style.
"""

from collections.abc import Sequence
from html import escape
from itertools import groupby

from rich.color import Color
from rich.segment import Segment
from textual.strip import Strip

from orchestrator.tui.actions import DashboardActions
from orchestrator.tui.app import Dashboard
from orchestrator.tui.run_feed.feed import RunFeed
from orchestrator.tui.settings import DashboardSettings

FRAME_INTERVAL_S = 0.5
_CELL_W, _CELL_H, _SIZE = 8.4, 18, 14
_TABS = ("1", "2", "3")
_FRAMES_A_TAB = 8
_LAST_FRAMES = 6
_INK, _PAPER = "#e6e6e6", "#101418"
Frame = tuple[str, ...]
"""The lines of a screen, each as SVG."""


class FilmedDashboard(Dashboard):
    """A dashboard that nobody sees, filmed until its recording is over; it goes from tab to tab meanwhile."""

    def __init__(self, source: RunFeed, doors: DashboardActions, look: DashboardSettings) -> None:
        super().__init__(source, doors, look)
        self.frames: list[Frame] = []
        self._feed = source
        self._left = _LAST_FRAMES

    def on_mount(self) -> None:  # type: ignore[override]
        """Begin to film."""
        self.run_every(FRAME_INTERVAL_S, self._shoot)

    async def _shoot(self) -> None:
        self.frames.append(tuple(map(render_strip_svg, self.screen._compositor.render_strips())))
        if self._feed.is_caught_up:
            self._left -= 1
            if not self._left:
                self.exit()
        elif len(self.frames) % _FRAMES_A_TAB == 0:
            await self.action_tab(_TABS[len(self.frames) // _FRAMES_A_TAB % len(_TABS)])


def render_strip_svg(strip: Strip) -> str:
    """A line as SVG, from its left end and its top."""
    parts, x = [], 0
    for style, run in groupby(strip, key=lambda segment: (*_colors(segment), _is_bold(segment))):
        text = "".join(segment.text for segment in run)
        width = Strip([Segment(text)]).cell_length
        parts.append(_run(text, x, width, *style))
        x += width
    return "".join(parts)


def _run(text: str, x: int, width: int, ink: str, paper: str, is_bold: bool) -> str:
    at, wide = round(x * _CELL_W, 1), round(width * _CELL_W, 1)
    if paper != _PAPER:
        back = f'<rect x="{at}" width="{wide}" height="{_CELL_H}" fill="{paper}"/>'
    else:
        back = ""
    if not text.strip():
        return back
    weight = ' font-weight="bold"' if is_bold else ""
    return f'{back}<text x="{at}" y="13" textLength="{wide}" fill="{ink}"{weight}>{escape(text)}</text>'


def _colors(segment: Segment) -> tuple[str, str]:
    style = segment.style
    if style is None:
        return _INK, _PAPER
    ink, paper = _hex(style.color, _INK), _hex(style.bgcolor, _PAPER)
    if style.reverse:
        return (paper, ink)
    return (ink, paper)


def _hex(color: Color | None, usual: str) -> str:
    if color is None or color.is_default:
        return usual
    return color.get_truecolor().hex


def _is_bold(segment: Segment) -> bool:
    return bool(segment.style and segment.style.bold)


def render_film_svg(frames: Sequence[Frame], columns: int, rows: int) -> str:
    """The picture: each frame half a second, again and again.

    Args:
        frames: at least one.
        columns: cells of a line.
        rows: lines of a frame.
    """
    lines = {line: number for number, line in enumerate(dict.fromkeys(line for frame in frames for line in frame))}
    width, height, whole = round(columns * _CELL_W), rows * _CELL_H, len(frames) * FRAME_INTERVAL_S
    style = (
        f"text {{ font: {_SIZE}px monospace; white-space: pre; }} "
        f".f {{ visibility: hidden; animation: f {whole}s steps(1) infinite; }} "
        f"@keyframes f {{ 0% {{ visibility: visible; }} {100 / len(frames):.4f}% {{ visibility: hidden; }} }}"
    )
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
            f'<style>{style}</style><rect width="100%" height="100%" fill="{_PAPER}"/><defs>',
            *(f'<g id="l{number}">{line}</g>' for line, number in lines.items()),
            "</defs>",
            *(_frame([lines[line] for line in frame], place) for place, frame in enumerate(frames)),
            "</svg>",
            "",
        )
    )


def _frame(lines: Sequence[int], place: int) -> str:
    uses = "".join(f'<use href="#l{number}" y="{row * _CELL_H}"/>' for row, number in enumerate(lines))
    return f'<g class="f" style="animation-delay: {place * FRAME_INTERVAL_S}s">{uses}</g>'

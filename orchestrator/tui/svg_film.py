"""A replay as one SVG picture that moves by itself, for where only pictures are shown. It needs nothing from elsewhere.

Every line that is ever seen stands in the file once; a frame is a list of lines, shown for a while by the page's style.
"""

from collections.abc import Sequence
from html import escape
from itertools import chain, groupby
from operator import attrgetter
from typing import NamedTuple

from rich.color import Color
from rich.segment import Segment
from textual.strip import Strip

from orchestrator.tui.actions import DashboardActions
from orchestrator.tui.app import Dashboard
from orchestrator.tui.run_feed.feed import RunFeed
from orchestrator.tui.settings import DashboardSettings
from orchestrator.tui.views.base_view import ThrottledView

FRAME_INTERVAL_S = 0.5
_CELL_W, _CELL_H, _SIZE = 8.4, 16, 14
_TABS = ("1", "2", "3")
_FRAMES_PER_TAB = 8
_LAST_FRAMES = 6
_INK, _PAPER = "#e6e6e6", "#101418"
Frame = tuple[str, ...]
"""The lines of a screen, each as SVG."""


class FilmedDashboard(Dashboard):
    """A dashboard without a terminal that is filmed until its recording is over, one tab after another."""

    def __init__(self, feed: RunFeed, actions: DashboardActions, settings: DashboardSettings) -> None:
        super().__init__(feed, actions, settings)
        self.frames: list[Frame] = []
        self._feed = feed
        self._remaining_frames = _LAST_FRAMES
        self._has_begun = False

    def on_mount(self) -> None:  # type: ignore[override]
        """Begin to film."""
        self.run_every(FRAME_INTERVAL_S, self._record_frame)

    async def _record_frame(self) -> None:
        """Record what is on the screen, from the first frame on that shows somebody at work."""
        if not self._has_begun:
            self._has_begun = self._feed.is_caught_up or self._has_work()
            if isinstance(view := self.view_stack.current_view, ThrottledView):
                view.repaint_now()  # it may rest, and show nobody yet: the next frame is the first
            return
        self.frames.append(tuple(map(render_strip_svg, self.screen._compositor.render_strips())))
        if self._feed.is_caught_up:
            self._remaining_frames -= 1
            if not self._remaining_frames:
                self.exit()
        elif len(self.frames) % _FRAMES_PER_TAB == 0:
            await self.action_tab(_TABS[len(self.frames) // _FRAMES_PER_TAB % len(_TABS)])

    def _has_work(self) -> bool:
        """Return True if a worker of the goal has been at work, or files of the migration are known."""
        if self.view_model is None or self.view_model.state.started is None:
            return False
        state = self.view_model.state
        return bool(state.migration.files) or any(session.role == "worker" for session in state.sessions.values())


def render_strip_svg(strip: Strip) -> str:
    """Return a line as SVG, from its left end and its top."""
    parts, x = [], 0
    for style, segments in groupby(strip, key=_get_appearance):
        text = "".join(map(attrgetter("text"), segments))
        width = Strip([Segment(text)]).cell_length
        parts.append(_render_text(text, x, width, style))
        x += width
    return "".join(parts)


class _Appearance(NamedTuple):
    ink: str
    paper: str
    is_bold: bool


def _render_text(text: str, x: int, width: int, style: _Appearance) -> str:
    left, length = round(x * _CELL_W, 1), round(width * _CELL_W, 1)
    parts = []
    if style.paper != _PAPER:
        parts.append(f'<rect x="{left}" width="{length}" height="{_CELL_H}" fill="{style.paper}"/>')
    if text.strip():
        weight = ' font-weight="bold"' * style.is_bold
        parts.append(f'<text x="{left}" y="13" textLength="{length}" fill="{style.ink}"{weight}>{escape(text)}</text>')
    return "".join(parts)


def _get_appearance(segment: Segment) -> _Appearance:
    style = segment.style
    if style is None:
        return _Appearance(_INK, _PAPER, is_bold=False)
    ink, paper = _format_color(style.color, _INK), _format_color(style.bgcolor, _PAPER)
    if style.reverse:
        ink, paper = paper, ink
    return _Appearance(ink, paper, bool(style.bold))


def _format_color(color: Color | None, default: str) -> str:
    return default if color is None or color.is_default else color.get_truecolor().hex


def render_film_svg(frames: Sequence[Frame], columns: int, rows: int) -> str:
    """Return the picture: each frame half a second, again and again.

    Args:
        frames: at least one.
        columns: cells of a line.
        rows: lines of a frame.
    """
    lines = dict.fromkeys(chain.from_iterable(frames))
    numbers = {line: number for number, line in enumerate(lines)}
    width, height, length_s = round(columns * _CELL_W), rows * _CELL_H, len(frames) * FRAME_INTERVAL_S
    style = (
        f"text {{ font: {_SIZE}px monospace; white-space: pre; }} "
        f".f {{ visibility: hidden; animation: f {length_s}s steps(1) infinite; }} "
        f"@keyframes f {{ 0% {{ visibility: visible; }} {100 / len(frames):.4f}% {{ visibility: hidden; }} }}"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
        f'<style>{style}</style><rect width="100%" height="100%" fill="{_PAPER}"/><defs>',
    ]
    for line, number in numbers.items():
        parts.append(f'<g id="l{number}">{line}</g>')
    parts.append("</defs>")
    for place, frame in enumerate(frames):
        parts.append(_render_frame(list(map(numbers.__getitem__, frame)), place))
    return "\n".join([*parts, "</svg>", ""])


def _render_frame(lines: Sequence[int], place: int) -> str:
    uses = "".join(f'<use href="#l{number}" y="{row * _CELL_H}"/>' for row, number in enumerate(lines))
    return f'<g class="f" style="animation-delay: {place * FRAME_INTERVAL_S}s">{uses}</g>'

"""The frame around every view: the line of the run, the line of tabs with the filter, the line of keys."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.tui.rows.header_line import HeaderPart, build_header_parts, fit_header_parts
from orchestrator.tui.rows.text_plots import Span
from orchestrator.tui.run_feed.playback_clock import PlaybackClock
from orchestrator.tui.view_model import Connection, ViewModel
from orchestrator.tui.view_stack import Tab
from orchestrator.tui.widgets.styled_line import Spans
from orchestrator.tui.widgets.styled_text import get_raw_text

SMALL_TERMINAL = (80, 20)
"""Below so many columns or lines a terminal is called small."""
_CONNECTED = {
    Connection.LIVE: ("LIVE", "good"),
    Connection.IDLE: ("NO PROCESS", "dim"),
    Connection.ENDED: ("ENDED", "dim"),
    Connection.REPLAY: ("REPLAY", "accent"),
}


def build_header_line(
    view_model: ViewModel, width: int, replay: PlaybackClock | None = None, *, is_ascii: bool = False
) -> list[Span]:
    """Build the header: the run, its progress and cost; at its end, whether one may act, and the connection."""
    is_at_work = view_model.is_at_work and view_model.state.ended is None
    parts = build_header_parts(view_model.state, view_model.now, is_at_work=is_at_work, is_ascii=is_ascii)
    access = HeaderPart("RO", "warn", 1) if view_model.is_read_only else HeaderPart("RW", "dim", 12)
    return fit_header_parts([*parts, access, build_connection_part(view_model, replay)], width)


def build_connection_part(view_model: ViewModel, replay: PlaybackClock | None = None) -> HeaderPart:
    """Return `LIVE`, `STALE 3s`, `NO PROCESS`, `ENDED`, `REPLAY 20x` or `REPLAY HELD`."""
    if replay is not None:
        return HeaderPart("REPLAY HELD" if replay.is_paused else f"REPLAY {replay.speed:g}x", "accent")
    if view_model.connection == Connection.STALE:
        return HeaderPart(f"STALE {view_model.stale_s:.0f}s", "warn")
    return HeaderPart(*_CONNECTED[view_model.connection])


def count_waiting(state: RunState) -> dict[str, int]:
    """Count, by the key of a tab, the things that wait on it: in the merge queue, and for a person."""
    queued = sum(task.status == TaskStatus.QUEUED for task in state.tasks.values())
    if state.started is not None and state.run.mode == "migration":
        waiting = [file for file in state.migration.files.values() if file.status == FileStatus.TRANSFORMED]
        queued = sum(file.is_pending for file in waiting)
    return {"3": queued, "4": len(state.pending_approvals)}


def build_tab_line(tabs: Sequence[Tab], front: str, counts: Mapping[str, int], right: str, width: int) -> Spans:
    """Build the tabs, a span each, as they fit a width; behind them what stands at the right."""
    names = [_render_tab(tab, counts, tab.title) for tab in tabs]
    if sum(map(cell_len, names)) + cell_len(right) + 1 > width:
        names = [_render_tab(tab, counts, tab.title * (tab.key == front)) for tab in tabs]
    styles = {"4": "ask"} if counts.get("4") else {}
    styles[front] = "chosen"
    room = width - sum(map(cell_len, names))
    shown = right if cell_len(right) < room else right[: max(room - 2, 0)] + "…" * (room > 1)
    spans = [(name, styles.get(tab.key, "dim")) for name, tab in zip(names, tabs, strict=True)]
    return [*spans, (" " * max(room - cell_len(shown), 0), ""), (shown, "accent")]


def _render_tab(tab: Tab, counts: Mapping[str, int], title: str) -> str:
    count = counts.get(tab.key, 0)
    return f" {tab.key} {title}".rstrip() + f"({count})" * bool(count) + " "


def build_key_line(own: Sequence[tuple[str, str]], common: Sequence[tuple[str, str]], width: int, height: int) -> Spans:
    """Build the keys of the view in front as far as they fit, then those that always hold, at the right.

    In a small terminal it says that that is why there is one column only, and `common` are only the last two.
    """
    is_small = width < SMALL_TERMINAL[0] or height < SMALL_TERMINAL[1]
    left: list[Span] = []
    right: list[Span] = []
    if is_small:
        left, common = [("small terminal  ", "warn")], common[-2:]
    for hint in common:
        right += _render_key(*hint)
    room = width - _measure_spans(right) - _measure_spans(left)
    for key, words in own:
        spans = _render_key(key, words)
        if _measure_spans(spans) > room:
            break
        left += spans
        room -= _measure_spans(spans)
    return [*left, (" " * max(room, 0), ""), *right]


def _render_key(key: str, words: str) -> list[Span]:
    return [(key, "key"), (f" {words}  ", "dim")]


def _measure_spans(spans: Spans) -> int:
    return cell_len(get_raw_text(list(spans)))

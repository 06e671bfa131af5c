"""The frame around every view: the line of the run, cut to fit any width, the line of tabs, the line of keys."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.ids import get_run_suffix
from orchestrator.domain.migration.file_counts import FileCounts
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.run.task_counts import TaskCounts
from orchestrator.domain.text.money import format_dollars
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.cost.budgets import get_budget_limits
from orchestrator.report.rows.agent_row import format_tokens
from orchestrator.report.run.condition import RunCondition, describe_condition
from orchestrator.report.run.phase import get_phase
from orchestrator.tui.rows.text_plots import Span, get_glyphs
from orchestrator.tui.run_feed.playback_clock import PlaybackClock
from orchestrator.tui.view_model import Connection, ViewModel
from orchestrator.tui.view_stack import Tab
from orchestrator.tui.widgets.styled_line import Spans
from orchestrator.tui.widgets.styled_text import get_raw_text

SMALL_TERMINAL = (80, 20)
"""Below so many columns or lines a terminal is called small."""
_CONNECTED = {
    Connection.LIVE: ("LIVE", "good"),
    Connection.IDLE: ("", ""),
    Connection.ENDED: ("ENDED", "dim"),
    Connection.REPLAY: ("REPLAY", "accent"),
}


@dataclass(frozen=True)
class HeaderPart:
    """A piece of the line. The one with the highest `rank` is left out first; `short` stands for it before that."""

    text: str
    style: str = ""
    rank: int = 0
    short: str = ""


def build_header_line(
    view_model: ViewModel,
    width: int,
    replay: PlaybackClock | None = None,
    *,
    is_ascii: bool = False,
    has_gauges: bool = False,
) -> list[Span]:
    """Build the header: the run, its progress and cost; at its end, whether one may act, and the connection.

    With `has_gauges`, progress and cost stand in the line of gauges.
    """
    is_at_work = view_model.is_at_work and view_model.state.ended is None
    parts = build_header_parts(
        view_model.state, view_model.now, is_at_work=is_at_work, is_ascii=is_ascii, has_gauges=has_gauges
    )
    access = HeaderPart("RO", "warn", 1) if view_model.is_read_only else HeaderPart("RW", "dim", 12)
    connection = build_connection_part(view_model, replay)
    return fit_header_parts([*parts, access, *([connection] if connection.text else [])], width)


def build_connection_part(view_model: ViewModel, replay: PlaybackClock | None = None) -> HeaderPart:
    """Return `LIVE`, `STALE 3s`, `ENDED`, `REPLAY 20x` or `REPLAY HELD`; empty if no engine works on the run."""
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


_BAR_CELLS = 10
_TITLE_CELLS = 48
_GAP = "  "


def build_header_parts(
    state: RunState, now: datetime | None, *, is_at_work: bool, is_ascii: bool = False, has_gauges: bool = False
) -> list[HeaderPart]:
    """Return the parts of the header in order.

    Args:
        state: the run; also one whose journal is still empty.
        now: the time up to which it has taken its time; None for its last event.
        is_at_work: whether an engine works on it.
        is_ascii: whether to do without other characters.
        has_gauges: whether progress and cost are shown elsewhere.
    """
    if state.started is None:
        return [HeaderPart("no event yet", "dim")]
    run = state.run
    seconds = get_seconds_worked(state, now) if is_at_work else state.wall_s
    return [
        HeaderPart(to_one_line(run.goal, _TITLE_CELLS), "title", 7, to_one_line(run.goal, 24)),
        HeaderPart(run.run, "accent", 1, get_run_suffix(run.run)),
        HeaderPart(f"{to_one_line(run.branch)}@{(state.head or run.base)[:7]}", "dim", 10),
        HeaderPart(format_elapsed(seconds), "", 4),
        _build_phase_part(state, is_at_work),
        *_build_workers(state, is_at_work),
        *([] if has_gauges else _build_counts(state)),
        HeaderPart(f"{format_short_count(state.spend.total.tokens)} tok", "dim", 11),
        *([] if has_gauges else _build_money(state, is_ascii)),
    ]


def fit_header_parts(parts: Sequence[HeaderPart], width: int) -> list[Span]:
    """Return the parts that fit one line, with gaps: first all are shortened, then the least important go."""
    kept = list(parts)
    while len(kept) > 1 and _measure_parts(kept) > width:
        worst = max(kept, key=lambda part: (part.rank, bool(part.short)))
        if worst.short:
            kept[kept.index(worst)] = HeaderPart(worst.short, worst.style, worst.rank)
        else:
            kept.remove(worst)
    spans: list[Span] = []
    for part in kept:
        spans += [(_GAP, ""), (part.text, part.style)]
    return spans[1:]


def format_elapsed(seconds: float) -> str:
    """Return `02:14:07`, and `3d 02:14:07` beyond a day."""
    days, rest = divmod(max(int(seconds), 0), 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}d " * bool(days) + clock


def get_seconds_worked(state: RunState, now: datetime | None) -> float:
    """Return the seconds that processes have worked on the run, up to `now` if one is at work."""
    if now is None or state.epoch_at is None:
        return state.wall_s
    return max(state.wall_s, state.earlier_s + (now - state.epoch_at).total_seconds())


def format_short_count(number: int) -> str:
    """Return `0`, `950`, `12k`, `9.1M`."""
    return format_tokens(number) if number else "0"


def format_spent(usage: Usage, limit: float = 0.0) -> str:
    """Return `$18.42 of $40.00`, or `$18.42` without a limit."""
    return usage.cost_text + f" of {format_dollars(limit)}" * bool(limit)


def render_share_bar(share: float, *, is_ascii: bool = False) -> str:
    """Return ten cells and a percentage."""
    full = min(max(round(share * _BAR_CELLS), 0), _BAR_CELLS)
    glyphs = get_glyphs(is_ascii)
    return f"{glyphs.full * full}{glyphs.empty * (_BAR_CELLS - full)} {share:.0%}"


def _build_phase_part(state: RunState, is_at_work: bool) -> HeaderPart:
    now = describe_condition(state, is_at_work)
    if state.ended is not None and state.ended.exit == 0:
        return HeaderPart(now.word, "done", 6)
    style, command = _CONDITIONS[now.condition]
    if now.condition != RunCondition.RUNNING:
        return HeaderPart(f"{now.word}{command}", style, 6, now.word)
    phase = get_phase(state)
    word = f"{phase.title} {phase.done}/{phase.total}"
    return HeaderPart(to_one_line(word, 60), style, 6, to_one_line(phase.title.partition(",")[0], 10))


_CONDITIONS: Mapping[RunCondition, tuple[str, str]] = {
    RunCondition.RUNNING: ("run", ""),
    RunCondition.ASKS: ("ask", " (:approve goes on)"),
    RunCondition.PAUSED: ("pause", " (:continue goes on)"),
    RunCondition.STOPPED: ("stop", " (:continue goes on)"),
    RunCondition.ENDED: ("fail", ""),
}
"""The style of each condition, and the command that is typed to go on."""


def _build_workers(state: RunState, is_at_work: bool) -> Iterator[HeaderPart]:
    is_goal = state.run.mode == "goal"
    working = sum(session.ended is None and session.role == "worker" for session in state.sessions.values())
    if is_at_work and (is_goal or working):
        limit = f"/{state.width.get_workers(state.allowed_workers)}" * is_goal
        yield HeaderPart(f"workers {working}{limit}", "", 8, f"w{working}")


def _build_counts(state: RunState) -> Iterator[HeaderPart]:
    if state.run.mode != "goal":
        files = FileCounts.from_statuses(file.status for file in state.migration.files.values())
        failed = f", {files.failed} failed" * bool(files.failed)
        share = f"files {files.landed}/{files.concerned}"
        yield HeaderPart(f"{share} merged{failed}", "", 3, share)
    else:
        leaves = (task.status for task in state.tasks.values() if task.is_counted)
        tasks = TaskCounts.from_statuses(leaves)
        yield HeaderPart(f"tasks {tasks.describe_counts()}", "", 3, f"tasks {tasks.share_text}")


def _build_money(state: RunState, is_ascii: bool) -> Iterator[HeaderPart]:
    limit = float(get_budget_limits(state).usd)
    yield HeaderPart(format_spent(state.spend.total, limit), "money", 2, format_spent(state.spend.total))
    if limit:
        share = float(state.spend.total.cost_usd) / limit
        yield HeaderPart(render_share_bar(share, is_ascii=is_ascii), "warn" if share >= 0.8 else "bar", 7)


def _measure_parts(parts: Sequence[HeaderPart]) -> int:
    return sum(cell_len(part.text) for part in parts) + len(_GAP) * (len(parts) - 1)

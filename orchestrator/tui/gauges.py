"""The line of gauges below the tabs: what has landed, each budget that is set, and landings over time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len

from orchestrator.domain.budget.limits import Account
from orchestrator.domain.migration.file_counts import FileCounts
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.run.task_counts import TaskCounts
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.money import format_dollars
from orchestrator.report.cost.budgets import build_accounts
from orchestrator.report.rows.agent_row import format_tokens
from orchestrator.tui.rows.text_plots import Span, get_glyphs, plot_sparkline
from orchestrator.tui.widgets.styled_line import Spans
from orchestrator.tui.widgets.styled_text import get_raw_text

ALARMING_SHARE = 0.8
"""The used share of a budget from which on its gauge is shown as a warning."""
_BAR_CELLS = (20, 12, 8, 5)
"""The lengths of bars and of the sparkline: the longest with which all gauges fit, else the shortest."""
_GAP = "  "
_AT_WORK = {TaskStatus.RUNNING, TaskStatus.JUDGING, TaskStatus.QUEUED}


@dataclass(frozen=True)
class Progress:
    """The number of tasks or files that have landed, are under way, or ended without having landed, of all."""

    unit: str
    landed: int
    under_way: int
    failed: int
    total: int
    cancelled: int = 0


def count_progress(state: RunState) -> Progress:
    """Count the tasks of a goal that work is done in, or the files of a migration that have something to do."""
    if state.run.mode == "migration":
        statuses = [file.status for file in state.migration.files.values()]
        landed = statuses.count(FileStatus.MERGED)
        failed = sum(status.is_left_over for status in statuses)
        changed = statuses.count(FileStatus.TRANSFORMED)
        return Progress("files", landed, changed, failed, FileCounts.from_statuses(statuses).concerned)
    leaves = [task.status for task in state.tasks.values() if task.is_counted]
    counts = TaskCounts.from_statuses(leaves)
    return Progress(
        unit="tasks",
        landed=counts.merged,
        under_way=sum(status in _AT_WORK for status in leaves),
        failed=counts.failed,
        total=counts.total,
        cancelled=counts.cancelled,
    )


def build_gauge_line(state: RunState, now: datetime, width: int, *, is_ascii: bool = False) -> Spans:
    """Return the gauges that fit a width, the most important first.

    Args:
        state: the run; without a first event there are no gauges.
        now: aware UTC, the end of the sparkline while the run goes on.
        width: in cells.
        is_ascii: True to do without other characters.
    """
    if state.started is None:
        return []
    progress, account = count_progress(state), build_accounts(state).get_run_account()
    line: list[Span] = []
    for cells in _BAR_CELLS:
        budgets = _list_budgets(account, cells, is_ascii)
        landings = _render_landings(count_landings(state, now, cells), is_ascii)
        gauges = [_render_progress(progress, cells, is_ascii), *budgets, landings]
        line = [(" ", ""), *_join_gauges(gauges)]
        if _measure(line) <= width:
            return line
    return _drop_gauges(gauges, width)


def _join_gauges(gauges: Sequence[list[Span]]) -> Iterator[Span]:
    for number, gauge in enumerate(gauges):
        if number:
            yield _GAP, ""
        yield from gauge


def _drop_gauges(gauges: Sequence[list[Span]], width: int) -> list[Span]:
    """Return those that fit, the first ones first."""
    line: list[Span] = [(" ", "")]
    for gauge in gauges:
        if _measure([*line, *gauge]) <= width:
            line += [*gauge, (_GAP, "")]
    return line


def _measure(spans: list[Span]) -> int:
    return cell_len(get_raw_text(spans))


def _list_budgets(account: Account, cells: int, is_ascii: bool) -> Iterator[list[Span]]:
    if account.limit.usd:
        text = f"{account.spent.cost_text} of {format_dollars(account.limit.usd)}"
        yield _render_budget("cost", float(account.spent.cost_usd) / account.limit.usd, text, cells, is_ascii)
    else:
        yield [("cost ", "dim"), (account.spent.cost_text, "money")]
    limit, spent = account.limit, account.spent
    if limit.tokens:
        text = f"{format_tokens(spent.tokens)} of {format_tokens(limit.tokens)}"
        yield _render_budget("tokens", spent.tokens / limit.tokens, text, cells, is_ascii)
    if limit.calls:
        yield _render_budget("calls", spent.calls / limit.calls, f"{spent.calls} of {limit.calls}", cells, is_ascii)
    if limit.wall_s:
        text = f"{format_short_duration(account.wall_s)} of {format_short_duration(limit.wall_s)}"
        yield _render_budget("time", account.wall_s / limit.wall_s, text, cells, is_ascii)


def _render_budget(name: str, share: float, text: str, cells: int, is_ascii: bool) -> list[Span]:
    glyphs = get_glyphs(is_ascii)
    full = min(round(share * cells), cells)
    style = "warn" if share >= ALARMING_SHARE else "bar"
    return [
        (f"{name} ", "dim"),
        (glyphs.done * full, style),
        (f"{glyphs.to_come * (cells - full)} ", "dim"),
        (text, ""),
    ]


def _render_progress(progress: Progress, cells: int, is_ascii: bool) -> list[Span]:
    glyphs = get_glyphs(is_ascii)
    parts = (
        (progress.landed, glyphs.done, "done"),
        (progress.under_way, glyphs.under_way, "run"),
        (progress.failed, glyphs.failed, "fail"),
    )
    bar: list[Span] = [(f"{progress.unit} ", "dim")]
    reached = drawn = 0
    for count, glyph, style in parts:
        reached += count
        end = reached * cells // max(progress.total, 1)
        bar.append((glyph * (end - drawn), style))
        drawn = end
    text = f"{progress.landed}/{progress.total} merged"
    if progress.cancelled:
        text += f", {progress.cancelled} cancelled"
    return [*bar, (f"{glyphs.to_come * (cells - drawn)} ", "dim"), (text, "")]


def _render_landings(counts: Sequence[float], is_ascii: bool) -> list[Span]:
    if not any(counts):
        return [("landings ", "dim"), ("none yet", "dim")]
    return [("landings ", "dim"), (plot_sparkline(counts, len(counts), get_glyphs(is_ascii).bars), "done")]


def count_landings(state: RunState, now: datetime, buckets: int) -> Sequence[float]:
    """Count what landed in each of `buckets` equal parts of the run's time, up to its end or `now`."""
    begun = state.run.started_at
    end = state.last_at if state.ended is not None and state.last_at is not None else now
    length_s = max((end - begun).total_seconds(), 1.0)
    counts = [0.0] * buckets
    for landed, at in zip(state.landings, state.landed_at, strict=True):
        place = int((at - begun).total_seconds() / length_s * buckets)
        counts[max(0, min(place, buckets - 1))] += len(landed.units)
    return counts

"""The first line of the dashboard: which run this is, how far it is, what it took. Pure, and cut to fit any width."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.ids import get_run_suffix
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.cost.budgets import get_budget_limits
from orchestrator.report.rows.agent_row import format_tokens
from orchestrator.report.run.phase import get_phase
from orchestrator.tui.rows.text_plots import Span, get_glyphs

_BAR_CELLS = 10
_TITLE_CELLS = 48
_GAP = "  "


@dataclass(frozen=True)
class HeaderPart:
    """A piece of the line. The one with the highest `rank` is left out first; `short` stands for it before that."""

    text: str
    style: str = ""
    rank: int = 0
    short: str = ""


def build_header_parts(
    state: RunState, now: datetime | None, *, is_at_work: bool, is_ascii: bool = False
) -> list[HeaderPart]:
    """Return the parts of the header in order.

    Args:
        state: the run; also one whose journal is still empty.
        now: the time up to which it has taken its time; None for its last event.
        is_at_work: whether an engine works on it.
        is_ascii: whether to do without other characters.
    """
    if state.started is None:
        return [HeaderPart("no event yet", "dim")]
    run = state.run
    seconds = get_seconds_worked(state, now) if is_at_work else state.wall_s
    return [
        HeaderPart(to_one_line(run.goal, _TITLE_CELLS), "title", 9, to_one_line(run.goal, 16)),
        HeaderPart(run.run, "accent", 1, get_run_suffix(run.run)),
        HeaderPart(f"{to_one_line(run.branch)}@{(state.head or run.base)[:7]}", "dim", 10),
        HeaderPart(format_elapsed(seconds), "", 4),
        _build_phase_part(state, is_at_work),
        *_build_counts(state, is_at_work),
        HeaderPart(f"{format_short_count(state.spend.total.tokens)} tok", "dim", 11),
        *_build_money(state, is_ascii),
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
    """Return `$18.42/40.00`, or `$18.42` without a limit; `n/a` without any price, `$0.42+?` with some unknown."""
    if usage.calls and usage.unpriced_calls == usage.calls:
        known = "n/a"
    else:
        known = f"${usage.cost_usd:.2f}{'+?' * bool(usage.unpriced_calls)}"
    return known + f"/{limit:.2f}" * bool(limit)


def render_share_bar(share: float, *, is_ascii: bool = False) -> str:
    """Return ten cells and a percentage."""
    full = min(max(round(share * _BAR_CELLS), 0), _BAR_CELLS)
    glyphs = get_glyphs(is_ascii)
    return f"{glyphs.full * full}{glyphs.empty * (_BAR_CELLS - full)} {share:.0%}"


def _build_phase_part(state: RunState, is_at_work: bool) -> HeaderPart:
    word, style = _describe_phase(state, is_at_work)
    return HeaderPart(to_one_line(word, 60), style, 6, to_one_line(word, 10))


def _describe_phase(state: RunState, is_at_work: bool) -> Span:
    if state.ended:
        return state.ended.outcome, "done" if state.ended.exit == 0 else "fail"
    if state.user_pause is not None:
        return "paused", "pause"
    if not is_at_work:
        return ("asks you", "ask") if state.pending_approvals else ("stopped", "stop")
    if state.is_draining:
        return "draining", "pause"
    now = get_phase(state)
    return f"{now.title} {now.done}/{now.total}", "run"


def _build_counts(state: RunState, is_at_work: bool) -> Iterator[HeaderPart]:
    is_goal = state.run.mode == "goal"
    working = sum(session.ended is None and session.role == "worker" for session in state.sessions.values())
    if is_at_work and (is_goal or working):
        limit = f"/{_get_max_workers(state)}" * is_goal
        yield HeaderPart(f"workers {working}{limit}", "", 8, f"w{working}")
    if not is_goal:
        done = sum(file.status.is_terminal for file in state.migration.files.values())
        yield HeaderPart(f"files {done}/{len(state.migration.files)}", "", 3)
    else:
        statuses = [task.status for task in state.tasks.values() if task.spec.kind == "leaf"]
        split = statuses.count(TaskStatus.SPLIT)
        done = sum(status.is_terminal for status in statuses) - split
        yield HeaderPart(f"tasks {done}/{len(statuses) - split}", "", 3)


def _get_max_workers(state: RunState) -> int:
    most = 0
    for settings in (state.run.settings, *state.overrides):
        most = settings.get("run", {}).get("max_workers", most)
    return int(most)


def _build_money(state: RunState, is_ascii: bool) -> Iterator[HeaderPart]:
    limit = float(get_budget_limits(state).usd)
    yield HeaderPart(format_spent(state.spend.total, limit), "money", 2, format_spent(state.spend.total))
    if limit:
        share = float(state.spend.total.cost_usd) / limit
        yield HeaderPart(render_share_bar(share, is_ascii=is_ascii), "warn" if share >= 0.8 else "bar", 7)


def _measure_parts(parts: Sequence[HeaderPart]) -> int:
    return sum(cell_len(part.text) for part in parts) + len(_GAP) * (len(parts) - 1)

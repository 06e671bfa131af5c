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
from orchestrator.report.run.phase import get_phase

Span = tuple[str, str]
"""A text and the name of its style."""
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
    """What is to be said of a run, in order.

    Args:
        state: the run; also one whose journal is still empty.
        now: the time up to which it has taken its time; None for its last event.
        is_at_work: whether an engine works on it.
        is_ascii: whether to do without other characters.
    """
    if state.started is None:
        return [HeaderPart("no event yet", "dim")]
    run = state.run
    return [
        HeaderPart(to_one_line(run.goal, _TITLE_CELLS), "title", 9, to_one_line(run.goal, 16)),
        HeaderPart(run.run, "accent", 1, get_run_suffix(run.run)),
        HeaderPart(f"{to_one_line(run.branch)}@{(state.head or run.base)[:7]}", "dim", 10),
        HeaderPart(format_elapsed(get_seconds_worked(state, now if is_at_work else None)), "", 4),
        _standing(state, is_at_work),
        *_counts(state, is_at_work),
        HeaderPart(f"{format_count(state.spent.tokens)} tok", "dim", 11),
        *_money(state, is_ascii),
    ]


def fit_header_parts(parts: Sequence[HeaderPart], width: int) -> list[Span]:
    """The parts that have room in one line, with gaps between them: first all is shortened, then the least goes."""
    kept = list(parts)
    while len(kept) > 1 and _cells(kept) > width:
        worst = max(kept, key=lambda part: (part.rank, bool(part.short)))
        at = kept.index(worst)
        kept[at : at + 1] = [HeaderPart(worst.short, worst.style, worst.rank)] if worst.short else []
    return [span for at, part in enumerate(kept) for span in ([(_GAP, "")] if at else []) + [(part.text, part.style)]]


def format_elapsed(seconds: float) -> str:
    """`02:14:07`, and `3d 02:14:07` beyond a day."""
    days, rest = divmod(max(int(seconds), 0), 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    if days:
        return f"{days}d {clock}"
    return clock


def get_seconds_worked(state: RunState, now: datetime | None) -> float:
    """Seconds that processes have worked on the run, up to `now` if one is at work."""
    if now is None or state.epoch_at is None:
        return state.wall_s
    return max(state.wall_s, state.earlier_s + (now - state.epoch_at).total_seconds())


def format_count(number: int) -> str:
    """`950`, `12k`, `9.1M`."""
    if number < 1_000:
        return str(number)
    if number < 999_500:
        return f"{number / 1_000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def format_spent(usage: Usage, limit: float = 0.0) -> str:
    """`$18.42/40.00`, without a limit `$18.42`; `n/a` where no price is known, `$0.42+?` where some are not."""
    if usage.calls and usage.unpriced_calls == usage.calls:
        known = "n/a"
    else:
        known = f"${usage.cost_usd:.2f}{'+?' if usage.unpriced_calls else ''}"
    if limit:
        return f"{known}/{limit:.2f}"
    return known


def render_share_bar(share: float, *, is_ascii: bool = False) -> str:
    """Ten cells and a percentage."""
    full = min(max(round(share * _BAR_CELLS), 0), _BAR_CELLS)
    solid, light = ("#", ".") if is_ascii else ("▓", "░")
    return f"{solid * full}{light * (_BAR_CELLS - full)} {share:.0%}"


def _standing(state: RunState, is_at_work: bool) -> HeaderPart:
    word, style = _word(state, is_at_work)
    return HeaderPart(to_one_line(word, 60), style, 6, to_one_line(word, 10))


def _word(state: RunState, is_at_work: bool) -> Span:
    if state.ended:
        return state.ended.outcome, "done" if state.ended.exit == 0 else "fail"
    if state.user_pause is not None:
        return "paused", "pause"
    if not is_at_work:
        if state.pending_approvals:
            return ("asks you", "ask")
        return ("stopped", "stop")
    if state.is_draining:
        return "draining", "pause"
    now = get_phase(state)
    return f"{now.title} {now.done}/{now.total}", "run"


def _counts(state: RunState, is_at_work: bool) -> Iterator[HeaderPart]:
    if is_at_work:
        working = sum(session.ended is None and session.role == "worker" for session in state.sessions.values())
        if state.run.mode == "goal":
            yield HeaderPart(f"workers {working}/{_most_workers(state)}", "", 8, f"w{working}")
        elif working:
            yield HeaderPart(f"workers {working}", "", 8, f"w{working}")
    if state.run.mode == "migration":
        done = sum(file.status.is_terminal for file in state.files.values())
        yield HeaderPart(f"files {done}/{len(state.files)}", "", 3)
    else:
        leaves = []
        for task in state.tasks.values():
            if task.spec.kind == "leaf":
                leaves.append(task)
        split = sum(task.status == TaskStatus.SPLIT for task in leaves)
        done = sum(task.status.is_terminal for task in leaves) - split
        yield HeaderPart(f"tasks {done}/{len(leaves) - split}", "", 3)


def _most_workers(state: RunState) -> int:
    changed = []
    for change in state.overrides:
        if "max_workers" in change.get("run", {}):
            changed.append(change["run"]["max_workers"])
    return int([state.run.settings.get("run", {}).get("max_workers", 0), *changed][-1])


def _money(state: RunState, is_ascii: bool) -> Iterator[HeaderPart]:
    limit = float(get_budget_limits(state).usd)
    yield HeaderPart(format_spent(state.spent, limit), "money", 2, format_spent(state.spent))
    if limit:
        share = float(state.spent.cost_usd) / limit
        yield HeaderPart(render_share_bar(share, is_ascii=is_ascii), "warn" if share >= 0.8 else "bar", 7)


def _cells(parts: Sequence[HeaderPart]) -> int:
    return sum(cell_len(part.text) for part in parts) + len(_GAP) * (len(parts) - 1)

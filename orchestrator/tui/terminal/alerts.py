"""Calling somebody to the terminal: the bell, and a notification by the terminal itself, when a run needs a person."""

from collections.abc import Callable, Iterator, Mapping
from time import monotonic

from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.cost.budgets import get_budget_limits
from orchestrator.report.rows.activity import Activity
from orchestrator.report.run.condition import describe_condition
from orchestrator.tui.view_model import ViewModel

_NOTIFICATION_CHARS = 200
QUIET_PERIOD_S = 30.0
_MESSAGE_CHARS = 120
_SHARES = (1.0, 0.8)
"""Parts of a budget at which a person is called; only the greatest that is reached counts."""


class Alerts:
    """Says when to call. What stood when it first looked calls nobody; what went away and comes back calls again.

    After each call it is quiet for `quiet_s` seconds; what came meanwhile is told together.
    """

    def __init__(self, quiet_s: float = QUIET_PERIOD_S, clock: Callable[[], float] = monotonic) -> None:
        self._quiet_s, self._clock = quiet_s, clock
        self._known: set[str] | None = None
        self._waiting: dict[str, str] = {}
        self._last: float | None = None

    def compose_alert(self, news: Mapping[str, str]) -> str:
        """Return the words to call with now; empty if nobody is to be called."""
        if self._known is None:
            self._known = set(news)
            return ""
        self._waiting |= {name: words for name, words in news.items() if name not in self._known}
        self._waiting = {name: words for name, words in self._waiting.items() if name in news}
        self._known = set(news)
        if not self._waiting or (self._last is not None and self._clock() - self._last < self._quiet_s):
            return ""
        self._last = self._clock()
        words, *more = self._waiting.values()
        self._waiting = {}
        return words + f" (and {len(more)} more)" * bool(more)


def format_osc_9(run: str, words: str) -> str:
    """Return the escape sequence by which many terminals show a notification; others ignore it."""
    return f"\x1b]9;{to_one_line(f'orchestrate {run}: {words}', _NOTIFICATION_CHARS)}\x07"


def collect_alert_messages(view_model: ViewModel) -> Mapping[str, str]:
    """Return what calls for a person now: key → words, one line without control characters."""
    state = view_model.state
    if state.started is None:
        return {}
    found = [*_list_questions(state), *_describe_end(state), *_describe_spending(state), *_list_stalls(view_model)]
    return {name: to_one_line(words, _MESSAGE_CHARS) for name, words in found}


def _list_questions(state: RunState) -> Iterator[tuple[str, str]]:
    for one in state.pending_approvals:
        yield f"ask/{one.approval.item}", f"asks {one.id}: {one.approval.title}"


def _describe_end(state: RunState) -> Iterator[tuple[str, str]]:
    if state.ended is not None:
        yield f"ended/{state.epoch}/{state.ended.outcome}", f"ended {state.ended.outcome}: {state.ended.reason}"
    elif state.paused is not None:
        now = describe_condition(state, is_at_work=False)
        yield f"paused/{state.epoch}", f"{now.word}: {now.cause}"


def _describe_spending(state: RunState) -> Iterator[tuple[str, str]]:
    limits = get_budget_limits(state)
    for what, spent, most in (
        ("usd", float(state.spend.total.cost_usd), limits.usd),
        ("tokens", float(state.spend.total.tokens), float(limits.tokens)),
    ):
        share = next((share for share in _SHARES if most and spent >= share * most), None)
        if share is not None:
            yield f"budget/{what}/{most:g}/{share}", f"{spent / most:.0%} of the budget of {most:,g} {what} is spent"


def _list_stalls(view_model: ViewModel) -> Iterator[tuple[str, str]]:
    for row in view_model.build_fleet_rows(is_whole=False):
        if row.activity == Activity.STALL:
            yield f"stall/{row.key}", f"nothing is heard of {row.name}: {row.last}"

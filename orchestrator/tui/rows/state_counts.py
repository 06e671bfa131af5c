"""Counts of rows by state, for the title of a panel: what needs a person first."""

from collections import Counter
from collections.abc import Iterable

from orchestrator.report.rows.activity import Activity
from orchestrator.tui.rows.text_plots import Span

_GROUPS: tuple[tuple[str, str, frozenset[Activity]], ...] = (
    ("ask", "ask", frozenset({Activity.ASK})),
    ("stalled", "stall", frozenset({Activity.STALL})),
    ("failed", "fail", frozenset({Activity.FAIL})),
    ("at work", "run", frozenset({Activity.RUN, Activity.THINK, Activity.TEST, Activity.JUDGE, Activity.RETRY})),
    ("landing", "merge", frozenset({Activity.MERGE})),
    ("paused", "pause", frozenset({Activity.PAUSE})),
    ("to do", "queue", frozenset({Activity.QUEUE})),
    ("given up", "stop", frozenset({Activity.STOP})),
    ("merged", "done", frozenset({Activity.DONE})),
)
"""The words for states that belong together, the style, and the states."""


def count_states(rows: Iterable[tuple[Activity, int]]) -> list[Span]:
    """Return how many rows are in each group of states, as `2 ask  5 at work`; groups without any are left out.

    Args:
        rows: each row's state, and for how many things it stands.
    """
    counts: Counter[Activity] = Counter()
    for activity, count in rows:
        counts[activity] += count
    spans: list[Span] = []
    for word, style, activities in _GROUPS:
        if number := sum(map(counts.__getitem__, activities)):
            spans.append((f"  {number} {word}", style))
    return spans

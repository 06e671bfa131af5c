"""Calling somebody to the terminal: the bell, and a notification by the terminal itself, when a run needs a person."""

from collections.abc import Callable, Mapping
from time import monotonic

from orchestrator.domain.text.sanitization import to_one_line

_CHARS = 200
QUIET_PERIOD_S = 30.0


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
        return words + (f" (and {len(more)} more)" if more else "")


def format_osc_9(run: str, words: str) -> str:
    """Return the escape sequence by which many terminals show a notification; others ignore it."""
    return f"\x1b]9;{to_one_line(f'orchestrate {run}: {words}', _CHARS)}\x07"

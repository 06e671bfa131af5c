"""Admission of replies that come at once: a few with each commit of the journal, in the order in which they came."""

from collections import deque

import anyio

_ADMITTED_AT_ONCE = 8
_LONGEST_WAIT_S = 1.0
"""A reply waits no longer: where the journal can commit nothing any more, whoever records it is told so."""


class AdmissionControl:
    """Lets so many replies pass between two commits; the others wait for the next one.

    Of hundreds of replies that came at once the first ones are worked on while the last still wait. Else all would wait
    for the commits of all at every step, and as models take about the same time, their next replies would come at once
    again: 256 workers with replies of a second took 1.3 seconds for each after 30 of them.
    """

    def __init__(self) -> None:
        self._admitted = 0
        self._waiting = deque[anyio.Event]()

    async def wait_for_admission(self) -> None:
        """Return once a reply may pass, which is at once where few have come since the last commit."""
        if self._admitted < _ADMITTED_AT_ONCE:
            self._admitted += 1
            return
        admitted = anyio.Event()
        self._waiting.append(admitted)
        try:
            with anyio.move_on_after(_LONGEST_WAIT_S):
                await admitted.wait()
        finally:
            if not admitted.is_set():
                self._waiting.remove(admitted)

    def admit_next(self) -> None:
        """Let the next ones pass, as something was committed."""
        self._admitted = 0
        while self._waiting and self._admitted < _ADMITTED_AT_ONCE:
            self._admitted += 1
            self._waiting.popleft().set()

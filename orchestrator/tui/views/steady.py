"""A view that does its work only when something has changed, and rests after work that took long."""

from datetime import datetime
from time import monotonic, thread_time

from orchestrator.report.filtering import NOTHING_LEFT_OUT, Filter
from orchestrator.tui.moment import Moment
from orchestrator.tui.view import View

_REST = 9.0
"""So many times as long as its work kept a core does a view rest."""
_SHORT_REST, _SHORT_S = 40.0, 1.0
"""Rests of up to so many seconds are longer: drawing what was made costs twice as much again as making it."""
_CLOCK_S = 5.0
"""What tells how long ago something was is brought up to date as often as this."""


BRIEF, TINY = 20, 12
"""Views of fewer lines have the classes `-brief` and `-tiny`."""


class SteadyView(View):
    """Implements `show` by `paint`, which makes everything that is seen from a moment.

    Whoever changes what is seen by a key calls `again`.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.moment: Moment | None = None
        self.wanted: Filter = NOTHING_LEFT_OUT
        self._painted: tuple[object, ...] = ()
        self._rests_until = 0.0

    def paint(self, moment: Moment) -> None:
        """Make everything that is seen."""
        raise NotImplementedError

    def show(self, moment: Moment) -> None:
        """Paint, unless nothing has changed or it is too soon."""
        self.moment = moment
        sign = (moment.state.started is not None, moment.seq, moment.connection, self._clock(moment.now), self.size)
        if moment.state.started is None or sign == self._painted or monotonic() < self._rests_until:
            return
        if not self.children:  # it may be coming or going
            return
        begun = thread_time()
        self.set_class(self.size.height < BRIEF, "-brief")
        self.set_class(self.size.height < TINY, "-tiny")
        self.paint(moment)
        self._painted, self._rests_until = sign, monotonic() + _rest(thread_time() - begun)

    def again(self) -> None:
        """Paint now, whether or not anything has happened in the run."""
        self._painted, self._rests_until = (), 0.0
        if self.moment is not None and self.is_mounted:
            self.show(self.moment)

    def narrow(self, wanted: Filter) -> None:
        """Show only what fits a filter from now on."""
        self.wanted = wanted
        self.again()

    def on_resize(self) -> None:
        """Another width has room for other things."""
        self.again()

    @property
    def is_ascii(self) -> bool:
        """Whether only ASCII can be shown."""
        return bool(getattr(getattr(self.app, "look", None), "is_ascii", False))

    @staticmethod
    def _clock(now: datetime) -> int:
        return int(now.timestamp() // _CLOCK_S)


def _rest(work_s: float) -> float:
    return max(work_s * _REST, min(work_s * _SHORT_REST, _SHORT_S))

"""A recorded run in whose middle people are asked things, for dashboards in tests."""

from datetime import timedelta

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.people import ApprovalDecided, ApprovalRequested
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.run.approval import Approval
from tests.tui.sources import Still, kept

AT_WORK = 60
"""An event of the recorded goal at which three workers are at work."""
LATER = 145
"""One at which a candidate has been ejected and others have been judged."""
LANDING = Approval(
    item="landing/discounts@2",
    matter="landing",
    subject="discounts@2",
    title="land discounts@2: 2 files, +9 −1 lines",
    detail=("it changes a path to be looked at: shop/[bold]\x1b[31mprices.py",),
)
TIERS = tuple(
    Approval(
        item=f"tier/{task}/1",
        matter="tier",
        subject=f"{task}/1",
        title=f"{task} wants the registries",
        detail=("to install a parser",),
    )
    for task in ("reporting/csv", "reporting/monthly")
)


class Asking(Still):
    """The recorded goal up to an event, with questions of a minute ago."""

    def __init__(self, until: int, *approvals: Approval) -> None:
        super().__init__(kept("goal.v2")[:until])
        self.happens(*(ApprovalRequested(approval=one) for one in approvals))
        self.later(60)

    def happens(self, *events: Event) -> None:
        """This is recorded now."""
        last = self.events[-1]
        for number, event in enumerate(events, start=1):
            self.events = (*self.events, RecordedEvent(last.seq + number, last.at, event))
        self.go_to(len(self.events))

    def later(self, seconds: float) -> None:
        """Time passes, and something small is recorded."""
        seq, at, _ = self.events[-1]
        then = at + timedelta(seconds=seconds)
        self.events = (*self.events, RecordedEvent(seq + 1, then, Noticed(level="info", text="time passes")))
        self.go_to(len(self.events))

    def answered(self, item: str, by: str = "ada", reason: str = "") -> None:
        """Somebody said yes."""
        self.happens(ApprovalDecided(item=item, decision="approve", by=by, reason=reason))

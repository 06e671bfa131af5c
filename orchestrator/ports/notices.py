"""Telling people something once, however often a run comes to it."""

from orchestrator.domain.event.notices import is_same_notice
from orchestrator.domain.event.run import Noticed
from orchestrator.ports.ledger import Ledger


async def record_notice_once(ledger: Ledger, notice: Noticed) -> None:
    """Record a notice that the journal does not hold yet, as after a kill."""
    for known in ledger.state.notices:
        if is_same_notice(known, notice):
            return
    await ledger.append(notice)

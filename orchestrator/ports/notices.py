"""Telling people something once, however often a run comes to it."""

from orchestrator.domain.event.run import Noticed
from orchestrator.ports.ledger import Ledger


def is_same_notice(notice: Noticed, other: Noticed) -> bool:
    """Return True if both tell the same, in whatever words.

    OLD JOURNALS: a notice without a code is the same as another one of the same text; where the fold derives the code,
    the text stands for the paths that it does not have.
    """
    if not notice.code or not other.code:
        return notice.text == other.text
    if (notice.code, notice.subject) != (other.code, other.subject):
        return False
    return notice.paths == other.paths or notice.text == other.text


async def record_notice_once(ledger: Ledger, notice: Noticed) -> None:
    """Record a notice that the journal does not hold yet, as after a kill."""
    for known in ledger.state.notices:
        if is_same_notice(known, notice):
            return
    await ledger.append(notice)

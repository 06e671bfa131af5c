"""Notices of a migration that are written once and read again: each has a code, and the id of what it is about."""

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import RunState
from orchestrator.engine.context import RunContext


def has_notice(state: RunState, code: NoticeCode, subject: str) -> bool:
    """Return True if a notice of this code about this step or check has been written."""
    return any(notice.code == code and notice.subject == subject for notice in state.notices)


async def write_notice_once(context: RunContext, notice: Noticed) -> None:
    """Append a notice, unless the run has one of the same code about the same thing and paths."""
    known = ((one.code, one.subject, one.paths) for one in context.state.notices)
    if (notice.code, notice.subject, notice.paths) not in known:
        await context.journal.append(notice)

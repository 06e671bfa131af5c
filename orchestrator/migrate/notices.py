"""Notices of a migration that are read again."""

from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import RunState


def has_notice(state: RunState, code: NoticeCode, subject: str) -> bool:
    """Return True if a notice of this code about this step or check has been written."""
    return any(notice.code == code and notice.subject == subject for notice in state.notices)

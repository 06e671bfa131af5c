"""Notices that are given only once."""

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.ports.ledger import is_same_notice


def test_a_notice_is_the_same_by_its_code_and_subject_and_in_old_journals_by_its_text() -> None:
    one = Noticed(level="info", code=NoticeCode.CANARIES_OFF, subject="base", text="so")
    assert is_same_notice(one, one.model_copy(update={"text": "in other words"}))
    assert not is_same_notice(one, one.model_copy(update={"subject": "runner"}))
    assert is_same_notice(Noticed(level="info", text="so"), one)
    assert not is_same_notice(Noticed(level="info", text="else"), one)


def test_the_text_of_an_old_notice_stands_for_the_paths_it_has_not() -> None:
    one = Noticed(level="info", code=NoticeCode.ALL_TESTS, subject="t", paths=("a.py",), text="none for a.py")
    assert is_same_notice(one.model_copy(update={"paths": ()}), one)
    assert not is_same_notice(one.model_copy(update={"paths": (), "text": "none for b.py"}), one)
    assert not is_same_notice(one.model_copy(update={"paths": ("b.py",), "text": "none for b.py"}), one)

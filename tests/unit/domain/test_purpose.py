"""Purposes of workspaces and checks: their facts, also in journals that hold only the text."""

import pytest

from orchestrator.domain.event.notices import NoticeCode, is_notice_of, is_same_notice
from orchestrator.domain.event.run import CheckStarted, Noticed
from orchestrator.domain.ids import TaskId, TreeId
from orchestrator.domain.run.purpose import Purpose, PurposeFacts

PURPOSES = [
    Purpose.for_planning(TaskId("storage/index")),
    Purpose.for_attempt(TaskId("storage"), 2),
    Purpose.for_attempt(TaskId("storage"), 2).with_detail("canaries"),
    Purpose.for_queue("round 3"),
    Purpose.for_queue("round 3").with_detail("in the old environment").with_detail("again"),
    Purpose("baseline"),
]


def started(text: str, facts: PurposeFacts | None = None) -> CheckStarted:
    return CheckStarted(key="check~0", check="gate", tree=TreeId("t"), purpose=text, facts=facts)


@pytest.mark.parametrize("purpose", PURPOSES, ids=lambda purpose: purpose.text)
def test_an_old_event_has_the_facts_that_a_new_one_is_written_with(purpose: Purpose) -> None:
    assert started(purpose.text).purpose_facts == started(purpose.text, purpose.facts).purpose_facts == purpose.facts


def test_a_notice_is_the_same_by_its_code_and_subject_and_in_old_journals_by_its_text() -> None:
    one = Noticed(level="info", code=NoticeCode.CANARIES_OFF, subject="base", text="so")
    assert is_same_notice(one, one.model_copy(update={"text": "in other words"}))
    assert not is_same_notice(one, one.model_copy(update={"subject": "runner"}))
    assert is_same_notice(Noticed(level="info", text="so"), one)
    assert not is_same_notice(Noticed(level="info", text="else"), one)


def test_a_step_is_found_in_notices_of_new_and_old_journals() -> None:
    old = Noticed(level="warning", text="step sed also changed a.py; that was left out")
    new = Noticed(level="warning", code=NoticeCode.STEP_SIDE_EFFECTS, subject="sed", text="so")
    assert is_notice_of(old, NoticeCode.STEP_SIDE_EFFECTS, "sed") and is_notice_of(
        new, NoticeCode.STEP_SIDE_EFFECTS, "sed"
    )
    assert not is_notice_of(old, NoticeCode.STEP_SIDE_EFFECTS, "awk")
    assert not is_notice_of(new, NoticeCode.STEP_NOT_BATCHED, "sed")

"""Purposes of workspaces and checks: their facts, also in journals that hold only the text."""

import pytest

from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.ids import TaskId, TreeId
from orchestrator.domain.purpose import Purpose, PurposeFacts

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

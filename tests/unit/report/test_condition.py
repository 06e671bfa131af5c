"""A run's condition: one word, why, and the command that goes on."""

from collections.abc import Sequence

import pytest

from orchestrator.domain.commands.definitions import Pause
from orchestrator.domain.event import Event
from orchestrator.domain.event.people import ApprovalRequested, CommandTaken
from orchestrator.domain.event.run import RunEnded, RunPaused
from orchestrator.domain.run.approval import Approval
from orchestrator.report.run.condition import describe_condition, explain_nothing_to_continue
from tests.running.goal_events import DAY, created, told

ASKED = ApprovalRequested(approval=Approval(item="tier/a", matter="tier", subject="a", title="a wants the network"))
BY_ADA = CommandTaken(key="1", by="ada", sent_at=DAY, command=Pause(reason="lunch"))
LIMIT = RunPaused(reason="the time limit of 3 s is reached", exit=5)
WAITS = RunPaused(reason="waits for an answer", exit=6)
CTRL_C = RunPaused(reason="stopped by Ctrl-C", exit=130)
DONE = RunEnded(outcome="partial", reason="a did not land", exit=3, head=None)


@pytest.mark.parametrize(
    ("events", "is_at_work", "word", "cause", "command"),
    [
        ([], True, "running", "", ""),
        ([ASKED], True, "running", "", ""),
        ([], False, "stopped", "its engine is gone: it was killed, or its machine was", "orchestrate resume r1"),
        ([ASKED], False, "stopped", "its engine is gone: it was killed, or its machine was", "orchestrate resume r1"),
        ([ASKED, CTRL_C], False, "stopped", "stopped by Ctrl-C", "orchestrate resume r1"),
        ([ASKED, WAITS], False, "asks you", "a wants the network", "orchestrate approve r1 q1"),
        ([LIMIT], False, "paused", "the time limit of 3 s is reached", "orchestrate resume r1"),
        ([BY_ADA, WAITS], False, "paused", "paused by ada: lunch", "orchestrate continue r1"),
        ([BY_ADA], True, "paused", "paused by ada: lunch", "orchestrate continue r1"),
        ([DONE], False, "partial", "a did not land", ""),
    ],
)
def test_a_run_has_one_word_a_cause_and_the_command_that_goes_on(
    events: Sequence[Event], is_at_work: bool, word: str, cause: str, command: str
) -> None:
    now = describe_condition(told(created("a"), *events), is_at_work)
    assert (now.word, now.cause, now.command) == (word, cause, command)


def test_continue_says_what_goes_on_where_it_would_change_nothing() -> None:
    assert "is running" in explain_nothing_to_continue(told(created("a")), True)
    assert "orchestrate approve r1 q1" in explain_nothing_to_continue(told(created("a"), ASKED, WAITS), False)
    assert explain_nothing_to_continue(told(created("a")), False) == "", "it goes on with a run that was killed"

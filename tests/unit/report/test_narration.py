"""A run told in lines: never silent for long, never too much, and inert in a log that obeys what it reads."""

from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.run import Noticed, RunDraining, RunEnded
from orchestrator.domain.event.work import TaskEnded, ToolCalled
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.text.blob_text import Text
from orchestrator.report.log.progress_lines import ProgressReporter
from tests.running import goal_events

SEQ = count(1)


def recorded(event: Event) -> RecordedEvent:
    return RecordedEvent(next(SEQ), datetime(2026, 1, 1, tzinfo=UTC), event)


def notice(text: str = "a word") -> RecordedEvent:
    return recorded(Noticed(level="info", text=text))


def ended(reason: str) -> RecordedEvent:
    return recorded(TaskEnded(task=TaskId("a"), status=TaskStatus.REJECTED, reason=reason))


def test_more_lines_than_a_minute_may_have_are_counted_and_told_in_the_next() -> None:
    narration = ProgressReporter(0.0, most=3)

    told = [line for second in range(10) for line in narration.render_event(notice(), second)]
    later = list(narration.render_event(notice(), 60.0))

    assert len(told) == 3
    assert later[0] == "7 lines suppressed: orchestrate logs has them"
    assert len(later) == 2


def test_that_the_run_ended_is_told_however_much_was_said() -> None:
    narration = ProgressReporter(0.0, most=1)
    list(narration.render_event(notice(), 0.0))

    assert list(
        narration.render_event(recorded(RunEnded(outcome="done", reason="all is well", exit=0, head=None)), 1.0)
    )


def test_while_a_run_stops_it_is_told_whenever_it_waits_for_something_else() -> None:
    reporter = ProgressReporter(0.0)
    call = ToolCalled(key="tool/s/0/0~0", session=SessionId("s"), turn=0, name="shell", arguments=Text())
    words: list[str] = []
    for second, calls in ((1.0, [call]), (6.0, [call]), (20.0, [call]), (30.0, [])):
        state = goal_events.told(RunDraining(), *calls)
        words += reporter.render_heartbeat(state, "12:00:00", second)
    assert [line.split(": ")[0] for line in words] == ["12:00:00  stopping, waits for 1 command", "12:00:00  stopping"]


@pytest.mark.parametrize(("silent_s", "beats"), [(59.0, 0), (61.0, 1)])
def test_a_minute_of_silence_is_broken(silent_s: float, beats: int) -> None:
    narration = ProgressReporter(0.0)
    list(narration.render_event(notice(), 100.0))

    assert len(list(narration.render_heartbeat(RunState(), "12:00:00", 100.0 + silent_s))) == beats


def test_elsewhere_than_on_github_there_are_no_annotations() -> None:
    assert len(list(ProgressReporter(0.0).render_event(ended("red"), 0.0))) == 1


@given(st.text())
def test_on_github_no_words_of_a_model_become_a_command_of_the_log(reason: str) -> None:
    lines = list(
        ProgressReporter(0.0, is_github=True).render_event(ended(f"{reason}\n::add-mask::x\r::set-env name=A::b"), 0.0)
    )

    commands = [line for text in lines for line in text.splitlines() if line.startswith("::")]
    assert len(commands) == 1
    assert commands[0].startswith("::warning title=a::rejected%3A")
    assert "::" not in commands[0].removeprefix("::warning title=a::")

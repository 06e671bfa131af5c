"""`tell`: a person's words reach whoever works on a task, once, whatever dies in between."""

from pathlib import Path

import pytest

from orchestrator.domain.event.people import WordsDelivered
from orchestrator.domain.event.work import ModelCalled, SessionStarted, ToolReturned, TurnEnded
from tests.running.cli import environment
from tests.running.in_process import orchestrate
from tests.running.killing import kill_engines
from tests.running.terminals import SleepyRun, in_shell

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]
WORDS = "keep the old file format"


def list_delivered(run: SleepyRun) -> list[WordsDelivered]:
    """All that was told, in order."""
    return [recorded.event for recorded in run.events() if isinstance(recorded.event, WordsDelivered)]


def test_words_reach_a_worker_in_the_middle_of_its_work_before_its_next_turn(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=600)
    run.says(*run.words, "--detach")
    run.wait_for(in_shell)
    told = run.says("tell", "latest", "a", WORDS, "--json")
    assert (told.code, told.json["taken"], told.json["refused"]) == (0, True, ""), told.err
    run.wake()
    run.wait_for_the_end()
    (delivered,) = list_delivered(run)
    assert (delivered.task, delivered.turn, delivered.word_ids) == ("a", 0, ("w1",))
    events = run.events()
    turn = next(one for one in events if isinstance(one.event, TurnEnded) and one.event.session == delivered.session)
    assert WORDS in turn.event.nudge
    asked = [one.seq for one in events if isinstance(one.event, ModelCalled) and one.event.session == delivered.session]
    assert asked[0] < turn.seq < asked[1]
    assert WORDS in run.says("logs", "latest").out
    report = run.says("report", "latest", "--md", "-").out
    assert WORDS in report.partition("Said by people")[2].partition("Tasks")[0]


def test_words_to_a_task_that_waits_stand_in_its_brief_and_no_reviewer_is_told(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=600, tasks=("a", "b"))
    run.says(*run.words, "--detach")
    run.wait_for(in_shell)
    assert run.says("tell", "latest", "b", WORDS).code == 0
    run.wake()
    run.wake()
    run.wait_for_the_end()
    (delivered,) = list_delivered(run)
    assert (delivered.task, delivered.turn) == ("b", None)
    briefs = [
        one.event for one in run.events() if isinstance(one.event, SessionStarted) and WORDS in one.event.brief.head
    ]
    assert [(brief.role, brief.task) for brief in briefs] == [("worker", "b")]


@pytest.mark.extended
def test_words_survive_a_kill_and_are_told_once(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=600)
    run.says(*run.words, "--detach")
    run.wait_for(in_shell)
    assert run.says("tell", "latest", "a", WORDS).code == 0
    assert kill_engines(tmp_path) == 1
    assert run.says("tell", "latest", "a", "and be brief").code == 0
    run.says("resume", "latest", "--detach")
    run.wake()
    run.wait_for_the_end()
    assert [name for delivered in list_delivered(run) for name in delivered.word_ids] == ["w1", "w2"]


@pytest.mark.extended
def test_words_that_do_not_wait_are_told_once_though_the_engine_dies_as_it_has_taken_them(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=600)
    deadly = environment(tmp_path, ORCHESTRATE_CRASH_AT="inbox.after-record")
    orchestrate(*run.words, "--detach", *run.where, cwd=tmp_path, env=deadly)
    run.wait_for(in_shell)
    assert run.says("tell", "latest", "a", WORDS, "--now").code == 0
    assert run.says("resume", "latest").code == 0, "nobody sleeps any more"
    (delivered,) = list_delivered(run)
    assert (delivered.task, delivered.turn, delivered.word_ids) == ("a", 0, ("w1",))
    returned = [one.event for one in run.events() if isinstance(one.event, ToolReturned) and one.event.name == "shell"]
    assert [one.observation.head.partition(":")[0] for one in returned] == ["A person stopped this call"]
    assert run.says("show", "latest", "a", "--json").json["task"]["attempts"][-1]["number"] == 1


@pytest.mark.extended
def test_words_that_nobody_could_hear_are_refused(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=0)
    run.says(*run.words)
    assert "the run has ended" in run.says("tell", "latest", "a", WORDS).err
    other = SleepyRun(tmp_path / "other", sleep_s=600)
    other.says(*other.words, "--detach")
    other.wait_for(in_shell)
    assert "there is no task 'ghost'" in other.says("tell", "latest", "ghost", WORDS).err
    assert "there are no words" in other.says("tell", "latest", "a", " ").err
    assert "at most 4,000" in other.says("tell", "latest", "a", "x" * 4_001).err
    assert kill_engines(tmp_path / "other") == 1

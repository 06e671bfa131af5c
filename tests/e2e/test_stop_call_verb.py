"""`orchestrate stop-call`: a real command that would sleep for ten minutes ends, whatever happens to the engine."""

from pathlib import Path

import pytest

from orchestrator.crash import CRASH_POINT_VARIABLE
from orchestrator.domain.event.work import ToolCalled, ToolReturned
from tests.running.cli import environment, orchestrate
from tests.running.terminals import SleepyRun, in_shell

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_call_that_was_stopped_before_the_engine_died_is_not_made_again(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=100)
    dying = environment(tmp_path, **{CRASH_POINT_VARIABLE: "inbox.after-record"})
    assert orchestrate(*run.words, "--detach", *run.where, cwd=tmp_path, env=dying).code == 0
    run.wait_for(in_shell)
    wrong = run.says("stop-call", "latest", "b")
    assert (wrong.code, "there is no task or conversation 'b'" in wrong.err) == (2, True)
    told = run.says("stop-call", "latest", "a", "--reason", "it sleeps for nothing", "--json")
    assert (told.code, told.json["do"], told.json["refused"]) == (0, "stop-call", "")
    assert run.resume()["outcome"] == "done"
    shells = [one.event for one in run.events() if isinstance(one.event, ToolCalled | ToolReturned)]
    ends = [event for event in shells if isinstance(event, ToolReturned) and event.name == "shell"]
    assert [(event.ok, event.seconds < 5) for event in ends] == [(False, True)]
    assert ends[0].observation.head == "A person stopped this call: it sleeps for nothing"
    assert "says stop-call work:a@1: it sleeps for nothing" in run.says("logs", "latest").out
    late = run.says("stop-call", "latest", "a")
    assert (late.code, "nothing to stop" in late.err) == (2, True)

"""A person at a real terminal: a look into a copy of the work, and an end to the one command that hangs."""

from pathlib import Path

import pytest

from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.event.work import ToolReturned
from tests.running.terminals import SleepyRun, in_shell
from tests.running.tmux import needs_tmux, terminal

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(600), needs_tmux]


def test_a_lost_terminal_sends_what_was_given_a_shell_opens_in_a_copy_and_a_hanging_command_is_stopped(
    tmp_path: Path,
) -> None:
    run = SleepyRun(tmp_path, sleep_s=100)
    run.says(*run.words, "--detach")
    run.wait_for(in_shell)
    looks = run.directory.parents[1] / "looks"
    with terminal(run.place, 120, 30) as window:
        window.run("watch", *run.where)
        window.wait_for(lambda lines: any("w01" in line for line in lines))
        window.press("p")
        window.wait_for(lambda lines: "pause  in" in " ".join(lines))
    run.wait_for(lambda one: isinstance(one.event, CommandTaken) and one.event.command.do == "pause")
    with terminal(run.place, 120, 30) as window:
        window.run("watch", *run.where)
        window.wait_for(lambda lines: any("w01" in line for line in lines))
        window.press("p")
        window.press("!")
        window.wait_for(lambda lines: not any("Fleet" in line for line in lines))
        window.type("ls; touch mine; pwd")
        window.wait_for(lambda lines: "calc.py" in " ".join(lines) and str(looks) in "".join(lines))
        window.type("exit")
        window.wait_for(lambda lines: "Fleet" in " ".join(lines))
        window.wait_for(lambda lines: "that was a copy" in " ".join(lines))
        assert [path for path in looks.rglob("*") if path.name == "mine"] == []
        window.press("K")
        window.wait_for(lambda lines: "stop-call work:a@1" in " ".join(lines))
        window.press("y")
        window.wait_for(lambda lines: "undo" in " ".join(lines))
        window.wait_for(lambda lines: "ENDED" in lines[0])
        window.press("q")
    ends = [one.event for one in run.events() if isinstance(one.event, ToolReturned) and one.event.name == "shell"]
    assert [event.observation.head.splitlines()[0] for event in ends] == ["A person stopped this call."]
    run.wait_for_the_end()

"""Commands that come at an odd moment: together, while the run comes to rest, or for a run that has ended."""

from pathlib import Path
from threading import Timer

import pytest

from orchestrator.app.run_execution import run_migration
from orchestrator.domain.commands.definitions import Approve, Cancel, Configure, Continue, Pause, Retry
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.event.work import SessionStarted, ToolCalled
from orchestrator.domain.ids import TaskId
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.task import TaskStatus
from orchestrator.project.options import Options
from tests.engine.test_migrations import recipe
from tests.engine.test_people import events, say
from tests.running.goals import Bench, Hears, When, one, status, task
from tests.running.naps import Nap
from tests.running.projects import repository
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = pytest.mark.sandbox

REJECTED = [writes("a", "a.txt", "a\n"), worker_ends("a"), reviews("a", "reject", "no")]


@pytest.mark.extended
async def test_a_pause_that_is_taken_back_while_the_run_comes_to_rest_stops_nothing(bench: Bench) -> None:
    def hear(event: object) -> None:
        match event:
            case ToolCalled(name="shell"):
                Timer(1, say, (bench, Pause())).start()
            case CommandTaken(command=Pause()):
                Timer(1.5, say, (bench, Continue())).start()
            case CommandTaken(command=Continue()):
                nap.wake_later()

    nap = Nap()
    slow = uses("worker", "a", "shell", command=nap.command)
    turns = [writes("b", f"b{n}.txt", "b").model_copy(update={"delay_s": 0.4}) for n in range(8)]
    work = [slow, *task("a"), *turns, worker_ends("b"), reviews("b")]
    items = [plans("root", {"key": "a"}, {"key": "b"}), *work, planner_ends(), judges()]
    ended = await bench.run(*items, when=Hears(hear))
    assert ended.exit_code == 0, ended.error


@pytest.mark.extended
async def test_a_pause_that_is_taken_back_leaves_no_file_of_a_migration_out(tmp_path: Path) -> None:
    def hear(event: object) -> None:
        match event:
            case FileMoved() if not paused:
                paused.append(say(Bench(tmp_path, root), Pause()))
            case CommandTaken(command=Pause()):
                Timer(1.5, say, (Bench(tmp_path, root), Continue())).start()
            case CommandTaken(command=Continue()):
                nap.wake_later()

    nap, paused = Nap(), list[None]()
    root = repository(tmp_path / "repo", {f"{name}.txt": "old\n" for name in "abcdef"})
    step = {"run": "case {files} in a.txt) NAP;; *) sleep 0.5;; esac; echo new > {files}".replace("NAP", nap.command)}
    given = recipe(step, verify={"report": "exit-code", "check": [{"id": "t", "run": "true"}]})
    options = Options(root, {"state": {"dir": str(tmp_path / "state")}, "hands": {"slots": 2}})
    ended = await run_migration(options, given, Hears(hear))
    assert {file.status for file in ended.state.migration.files.values()} == {FileStatus.MERGED}, ended.error


@pytest.mark.extended
async def test_a_task_that_is_tried_again_while_the_whole_is_judged_is_not_left_behind(bench: Bench) -> None:
    slow = judges().model_copy(update={"delay_s": 3})
    both = [plans("root", {"key": "a"}, {"key": "b"}), *REJECTED, *task("a"), *task("b")]

    def judged(event: object) -> None:
        if isinstance(event, SessionStarted) and event.session == "verdict:1":
            say(bench, Retry(task=TaskId("a")))

    ended = await bench.run(*both, planner_ends(), slow, judges(), when=Hears(judged))
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED)


async def test_a_run_that_was_given_up_can_be_brought_to_its_end_after_all(bench: Bench) -> None:
    cancel = When("verdict.given", lambda _: say(bench, Cancel(reason="oops")))
    begun = [plans("root", {"key": "a"}, {"key": "b"}), *task("a"), writes("b", "b.txt", "b\n")]
    never = begun[-1].model_copy(update={"delay_s": 300})
    ended = await bench.run(*begun[:-1], never, when=cancel)
    assert ended.state.ended is not None and ended.state.ended.outcome == "cancelled"
    say(bench, Retry(task=TaskId("b")))
    say(bench, Retry(task=TaskId("a")))
    again = await bench.resume(*begun, *task("a"), *task("b"), planner_ends(), judges())
    assert (again.exit_code, status(again, "b")) == (0, TaskStatus.MERGED), again.state.ended


async def test_a_task_that_is_tried_again_right_after_the_run_was_given_up_keeps_the_run_going(bench: Bench) -> None:
    def change_ones_mind(event: object) -> None:
        match event:
            case ToolCalled(name="shell"):
                Timer(1, say, (bench, Configure(settings={"run": {"max_workers": 2}}))).start()
            case CommandTaken(command=Configure()):  # the run does not go on between the two
                say(bench, Cancel(reason="oops"))
                say(bench, Retry(task=TaskId("a")))

    slow = uses("worker", "a", "shell", command="sleep 300")
    items = [plans("root", {"key": "a"}), slow, *task("a"), planner_ends(), judges()]
    ended = await bench.run(*items, when=Hears(change_ones_mind))
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED), ended.state.ended


async def test_what_is_asked_of_a_run_that_was_given_up_can_no_longer_be_answered(bench: Bench) -> None:
    await bench.run(*one("a"), approval={"mode": "pr"})
    say(bench, Cancel())
    given_up = (await bench.resume(*one("a"))).state
    assert given_up.pending_approvals == []
    (item,) = given_up.approvals
    say(bench, Approve(item=item))
    ended = await bench.resume(*one("a"))
    (answer,) = [taken for taken in events(ended, CommandTaken) if isinstance(taken.command, Approve)]
    assert answer.refused == f"q1 {item} is closed: the run has ended (cancelled); waiting: nothing"


async def test_who_resumes_a_run_takes_back_a_pause_that_nobody_has_taken_yet(bench: Bench) -> None:
    await bench.run(*one("a"), budget={"calls": 2})
    say(bench, Pause())
    assert (await bench.resume(*one("a"), budget={"calls": 100})).exit_code == 0


async def test_settings_hold_for_an_ended_run_that_is_about_to_be_opened_again(bench: Bench) -> None:
    first = [plans("root", {"key": "a"}), *REJECTED, planner_ends()]
    ended = await bench.run(*first)
    assert ended.exit_code == 4
    say(bench, Retry(task=TaskId("a")))
    again = await bench.resume(*first, *task("a"), judges(), budget={"calls": 6})
    assert again.exit_code == 5

"""A worker whose context fills goes on in the same attempt, and its work lands; a replay does the same."""

from typing import Any

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.work import ContextFilled, ConversationCarriedOver
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from orchestrator.replay.comparison.report_text import render_report
from orchestrator.scratch_runs.replay import replay_run
from tests.loopback.builders import call, reply
from tests.running.conversations import ConversationWatch
from tests.running.goals import Bench, status
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, write_script

pytestmark = pytest.mark.sandbox


def list_carryovers(ended: RunExit, kind: type = ConversationCarriedOver) -> list[tuple[str, int]]:
    """The sessions and turns at which one was carried over."""
    events = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    return [(event.session, event.turn) for event in events if isinstance(event, kind)]


def think(number: int) -> ScriptedReply:
    """A worker's turn whose words stay: three of them fill a context of 12,000 tokens beside what it is told."""
    words = f"Step {number}. {'.' * 12_000}"
    return reply(words, task="a", call=[call("write", path=f"{number}.txt", text=f"{number}\n")])


async def run_with_carryovers(bench: Bench) -> RunExit:
    """A run whose only worker carries its conversation over twice."""
    carried = uses("worker", "a", "carry_over", state="some files stand", remaining=["the others"])
    worker = [*map(think, range(3)), carried, *map(think, range(3, 6)), carried, think(6), worker_ends("a")]
    others = [plans("root", {"key": "a"}), planner_ends(), reviews("a"), judges()]
    model = {"model": write_script(bench.root / "others.json", others)}
    roles: dict[str, Any] = {"planner": model, "judge": model}
    roles["worker"] = {"model": write_script(bench.root / "worker.json", worker), "context_tokens": 12_000}
    return await bench.run(roles=roles)


async def test_the_work_of_an_attempt_with_two_carryovers_lands(
    bench: Bench, conversation_watch: ConversationWatch
) -> None:
    ended = await run_with_carryovers(bench)
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED)
    task = ended.state.tasks[TaskId("a")]
    assert len(task.attempts) == 1
    assert list_carryovers(ended, ContextFilled) == [("work:a@1", 3), ("work:a@1", 7)]
    assert list_carryovers(ended) == [("work:a@1", 4), ("work:a@1", 8)]
    for number in range(7):
        assert git(bench.repository, "show", f"{ended.state.head}:{number}.txt") == f"{number}"
    assert [watched.carryovers for watched in conversation_watch.finished if watched.carryovers] == [2]


@pytest.mark.extended
async def test_a_run_with_carryovers_is_done_over_the_same(bench: Bench) -> None:
    ended = await run_with_carryovers(bench)
    options = Options(bench.repository, {"state": {"dir": str(bench.root / "state")}})
    report = await replay_run(options, None, ReplayOptions())
    assert (report.is_same, report.is_whole) == (True, True), "\n".join(render_report(report))
    assert report.same_bytes + report.same_steadied == ended.state.spend.total.calls

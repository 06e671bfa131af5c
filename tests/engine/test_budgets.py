"""Budgets of tasks, and what a spent budget of the run leaves standing."""

import threading
from decimal import Decimal

import pytest

from orchestrator.domain.commands.definitions import Configure
from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.event.work import ModelCalled, PlanRefused, SnapshotTaken, ToolCalled
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import Exit, TaskStatus
from orchestrator.errors import LimitReached
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.run_control.control import send_command
from tests.running.goals import Bench, Hears, reason, status, task
from tests.running.in_process import orchestrate
from tests.running.naps import Nap
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = pytest.mark.sandbox


async def test_a_task_that_spent_its_budget_is_rejected_its_work_kept_and_its_sibling_lands(bench: Bench) -> None:
    items = [
        plans("root", {"key": "a", "budget_tokens": 20_000}, {"key": "b"}),
        dear(writes("a", "a.txt", "a\n"), tokens=20_000),
        worker_ends("a"),
        dear(writes("b", "b.txt", "b\n"), tokens=20_000),
        *task("b")[1:],
        planner_ends(),
        judges(),
    ]
    ended = await bench.run(*items)
    assert (ended.exit_code, status(ended, "a"), status(ended, "b")) == (0, TaskStatus.REJECTED, TaskStatus.MERGED)
    assert reason(ended, "a") == (
        "the attempt ended out-of-budget: the token budget of 20,000 for task a is spent (20,000)"
    )
    a = ended.state.tasks[TaskId("a")]
    assert (len(a.attempts), a.ends[-1].exit) == (1, Exit.OUT_OF_BUDGET)
    assert a.candidate is not None
    assert git(bench.repository, "show", f"{a.candidate.ref}:a.txt") == "a"


async def test_a_branch_that_spent_its_budget_ends_with_what_it_has_landed(bench: Bench) -> None:
    items = [
        plans("root", {"key": "ui", "kind": "branch"}, {"key": "b"}),
        plans("ui", {"key": "x"}, {"key": "y", "depends_on": ["x"]}),
        *task("ui/x"),
        *task("b"),
        planner_ends(),
        judges(),
    ]
    ended = await bench.run(*items, budget={"branch": {"calls": 4}})
    assert (ended.exit_code, status(ended, "ui/x"), status(ended, "b")) == (0, TaskStatus.MERGED, TaskStatus.MERGED)
    assert (status(ended, "ui/y"), status(ended, "ui")) == (TaskStatus.REJECTED, TaskStatus.REJECTED)
    assert "the call budget of 4 for task ui is spent (4)" in reason(ended, "ui/y")
    assert reason(ended, "ui").startswith("its planner ended out-of-budget: the call budget of 4 for task ui")


async def test_a_plan_that_gives_more_than_is_left_goes_back_to_its_planner(bench: Bench) -> None:
    items = [
        plans("root", {"key": "a", "budget_usd": 3.0}, {"key": "b", "budget_usd": 2.0}),
        plans("root", {"key": "a", "budget_usd": 3.0}),
        *task("a"),
        planner_ends(),
        judges(),
    ]
    ended = await bench.run(*items, budget={"usd": 5.0})
    events = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    refused = [event.problems for event in events if isinstance(event, PlanRefused)]
    assert (ended.exit_code, refused) == (
        0,
        [("the tasks may cost $5.00 together and your slice has $4.50 left: give them less",)],
    )
    where = ("--repo", bench.repository, "--state", bench.root / "state")
    told = orchestrate("cost", "--json", *where, cwd=bench.root).json
    assert (told["schema"], told["total"]["calls"]) == ("orchestrate.cost/1", ended.state.spend.total.calls)
    assert [(waste["name"], waste["calls"]) for waste in told["waste"]] == [("refused plans", 1)]
    text = orchestrate("cost", *where, cwd=bench.root).out
    assert "refused plans (1)" in text
    assert "budget: $5.00" in text


@pytest.mark.extended
async def test_what_was_finished_when_the_budget_ran_out_is_judged_and_landed_before_the_run_stops(
    bench: Bench,
) -> None:
    nap = Nap()
    items = [
        plans("root", {"key": "a"}, {"key": "b"}, {"key": "c"}),
        dear(writes("a", "a.txt", "a\n"), usd="0.10"),
        dear(worker_ends("a").model_copy(update={"delay_s": 6.0}), usd="0.06"),
        dear(reviews("a"), usd="0.05"),
        uses("worker", "b", "shell", command=nap.command),
        dear(writes("b", "b.txt", "b\n"), usd="0.30"),
        worker_ends("b"),
        reviews("b"),
        *task("c"),
        planner_ends(),
        judges(),
    ]

    def hear(event: object) -> None:
        """The one spends what there is while the other's last reply is under way."""
        if isinstance(event, ModelCalled) and (event.task, event.turn) == ("a", 1):
            nap.wake_later()

    budget = {"usd": 0.60, "reserve": 0.2}
    ended = await bench.run(*items, budget=budget, run={"max_workers": 2}, when=Hears(hear))
    assert isinstance(ended.error, LimitReached)
    assert (ended.exit_code, status(ended, "a"), status(ended, "b")) == (5, TaskStatus.MERGED, TaskStatus.RUNNING)
    assert status(ended, "c") == TaskStatus.PLANNED, "no new work began"
    assert ended.state.spend.total.cost_usd <= Decimal("0.60")
    again = await bench.resume(*items, budget={"usd": 5.0})
    assert (again.exit_code, status(again, "b"), again.state.spend.possibly_billed_calls) == (0, TaskStatus.MERGED, 0)


async def test_a_budget_that_is_raised_while_others_still_work_is_gone_on_with_at_once(bench: Bench) -> None:
    naps = {name: Nap() for name in "ab"}
    items = [
        plans("root", {"key": "a"}, {"key": "b"}),
        *(uses("worker", name, "shell", command=nap.command) for name, nap in naps.items()),
        dear(writes("a", "a.txt", "a\n"), usd="1"),
        *task("a")[1:],
        *task("b"),
        planner_ends(),
        judges(),
    ]

    def hear(event: object) -> None:
        """One goes on when the other sleeps, and that one when the budget that the first spent has been raised."""
        match event:
            case ToolCalled(name="shell", task="b"):
                naps["a"].wake_later()
            case SnapshotTaken(task="a", turn=1):
                (run,) = bench.root.glob("state/*/runs/*")
                raised = Configure(settings={"budget": {"usd": 50.0}})
                threading.Timer(0.3, send_command, (RunDirectory(run), raised)).start()
            case CommandTaken():
                naps["b"].wake_later()

    ended = await bench.run(*items, budget={"usd": 1.0}, when=Hears(hear))
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED), ended.error


def dear(item: ScriptedReply, *, tokens: int = 0, usd: str = "0") -> ScriptedReply:
    """The reply at a price."""
    return item.model_copy(update={"usage": item.usage.model_copy(update={"input": tokens}), "cost_usd": Decimal(usd)})

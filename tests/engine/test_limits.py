"""Budgets, scripts that run dry, providers that are down: stopped with a reason, and gone on with."""

from decimal import Decimal

import pytest

from orchestrator.app.run_execution import RunExit, resume_run, run_goal
from orchestrator.domain.event.work import ModelFailed
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.errors import LimitReached
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.project.options import Options
from tests.loopback.builders import call, reply
from tests.running.goals import Bench, status, task
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, write_script, writes

pytestmark = pytest.mark.sandbox


async def test_a_spent_budget_stops_resumably_and_a_larger_one_goes_on(bench: Bench) -> None:
    items = [
        item.model_copy(update={"cost_usd": Decimal("0.5")})
        for item in (
            plans("root", {"key": "a"}),
            *task("a"),
            planner_ends(),
            judges(),
        )
    ]
    options = bench.options(items, budget={"usd": 1.2})
    ended = await run_goal(options, "make it better")
    assert isinstance(ended.error, LimitReached)
    assert ended.exit_code == 5
    assert ended.state.spend.total.calls == 2
    again = await resume_run(Options(bench.repository, options.flags | {"budget": {"usd": 10.0}}), None)
    assert (again.exit_code, again.state.spend.total.calls, status(again, "a")) == (0, 6, TaskStatus.MERGED)


async def test_a_script_that_runs_dry_says_where_and_can_be_gone_on_with(bench: Bench) -> None:
    begun = [plans("root", {"key": "a"}), writes("a", "a.txt", "a\n")]
    ended = await bench.run(*begun)
    assert ended.exit_code == 2
    assert "no more replies for role 'worker', task 'a'" in str(ended.error)
    rest = [worker_ends("a"), reviews("a"), planner_ends(), judges()]
    again = await bench.resume(*begun, *rest)
    assert (again.exit_code, status(again, "a")) == (0, TaskStatus.MERGED)


async def test_a_call_under_way_is_heard_out_when_another_worker_meets_the_budget(bench: Bench) -> None:
    first = [
        reply(role="worker", task=name, delay_s=delay_s, call=[call("write", path=f"{name}.txt", text=name)])
        for name, delay_s in (("a", 0.4), ("b", 0.8))
    ]
    rest = [item for name in "ab" for item in task(name)[1:]]
    items = [plans("root", {"key": "a"}, {"key": "b"}), *first, *rest, planner_ends(), judges()]
    ended = await bench.run(*items, budget={"calls": 2})
    assert isinstance(ended.error, LimitReached)
    assert ended.state.spend.total.calls == 2, "the plan and one of the workers; the other waited whether there is room"
    again = await bench.resume(*items, budget={"calls": 50})
    assert (again.exit_code, again.state.spend.possibly_billed_calls) == (0, 0)


async def test_a_provider_that_is_down_at_first_costs_nothing_but_time(bench: Bench) -> None:
    down = [reply(role="worker", task="a", error="unavailable")] * 2
    items = [plans("root", {"key": "a"}), *down, *task("a"), planner_ends(), judges()]
    retry = {"tries": 2, "base_s": 0.01}
    ended = await bench.run(*items, retry=retry)
    assert (ended.exit_code, len(ended.state.tasks[TaskId("a")].attempts)) == (75, 1)
    again = await bench.resume(*items, retry=retry)
    assert (again.exit_code, len(again.state.tasks[TaskId("a")].attempts)) == (0, 1)
    assert failures(again) == ["unavailable", "unavailable"]


async def test_scripted_fallbacks_go_on_after_a_resume_where_they_stood(bench: Bench) -> None:
    used_up = [reply(role="worker", task="a", error="quota-exhausted")] * 2
    items = [plans("root", {"key": "a"}), *used_up, planner_ends(), reviews("a"), judges()]
    spare = write_script(bench.root / "spare.json", task("a")[:2])
    usual = write_script(bench.root / "script.json", items)
    roles = {
        "planner": {"model": usual},
        "judge": {"model": usual},
        "worker": {"model": write_script(bench.root / "worker.json", used_up), "fallbacks": [spare]},
    }
    first = await bench.run(*items, roles=roles, budget={"calls": 2})
    assert (first.exit_code, first.state.spend.total.calls) == (5, 2)
    again = await bench.resume(*items, roles=roles, budget={"calls": 50})
    assert (again.exit_code, status(again, "a")) == (0, TaskStatus.MERGED)
    assert again.state.spend.answer_counts[f"worker a {spare}"] == 2
    assert failures(again) == ["quota-exhausted"] * 2


def failures(ended: RunExit) -> list[str]:
    events = (recorded.event for recorded in read_all_events(ended.directory.journal))
    return [event.error for event in events if isinstance(event, ModelFailed)]

"""Budgets kept through the real litellm, by workers that call a real HTTP server at the same time."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.app.run_execution import resume_run, run_goal
from orchestrator.domain.run.task import TaskStatus
from orchestrator.errors import LimitReached
from orchestrator.llm.scripted_model.script import ScriptedReply, ScriptedUsage
from orchestrator.project.options import Options
from orchestrator.report.run.result import build_run_result
from tests.loopback.server import LoopbackServer
from tests.running.goals import Bench, status, task
from tests.running.projects import GATE_FLAGS
from tests.running.scripts import judges, planner_ends, plans, writes

pytestmark = pytest.mark.sandbox

WORKERS = 3
ROLES = ("planner", "worker", "judge")
PRICE = {"input_usd_per_mtok": 2, "output_usd_per_mtok": 10}
A_CALL = Decimal("0.03")
USAGE = ScriptedUsage(input=10_000, output=1_000)
"""More input than the size of the requests tells, so that every call costs more than it reserved."""


def script() -> list[ScriptedReply]:
    """One short task and three long ones: 42 calls, $1.26 and 462,000 tokens."""
    names = ("a", "b", "c", "d")
    long = [writes(name, f"{name}-{n}.txt", f"{n}\n") for name in names[1:] for n in range(9)]
    items = [plans("root", *({"key": name} for name in names)), *long, *(item for name in names for item in task(name))]
    items += [planner_ends(), judges()]
    return [item.model_copy(update={"usage": USAGE, "delay_s": 0.02}) for item in items]


def options(bench: Bench, url: str, **flags: Any) -> Options:
    roles = {role: {"model": f"openai/{role}", "api_base": url} for role in ROLES}
    values = {"gate": GATE_FLAGS, "roles": roles, "state": {"dir": str(bench.root / "state")}}
    return Options(bench.repository, values | {"run": {"max_workers": WORKERS}} | flags)


@pytest.mark.parametrize(
    ("budget", "prices"),
    [
        ({"usd": 1.0}, {f"openai/{role}": PRICE for role in ROLES}),
        ({"usd": 1.0, "tokens": 367_000}, {}),
    ],
    ids=["a dollar at known prices", "tokens without a price"],
)
async def test_a_budget_is_kept_by_parallel_workers_and_what_is_finished_lands(
    bench: Bench, budget: Mapping[str, float], prices: Mapping[str, Any]
) -> None:
    async with (server := LoopbackServer(script())).run() as url:
        ended = await run_goal(options(bench, url, budget=budget, prices=prices), "make it better")
        spent = ended.state.spend.total
        assert isinstance(ended.error, LimitReached), ended.error
        assert (ended.exit_code, status(ended, "a")) == (5, TaskStatus.MERGED)
        assert spent.calls == server.stats()["calls"], "what the provider saw is what was booked"
        assert 27 <= spent.calls <= 33 + WORKERS, "the budget is used, and passed by no more than the calls in flight"
        told = build_run_result(ended.state, ended.directory.journal).spent
        assert told.usd == (pytest.approx(float(spent.calls * A_CALL)) if prices else None)
        larger = {name: 3 * amount for name, amount in budget.items()}
        again = await resume_run(options(bench, url, budget=larger), None)
        assert [status(again, name) for name in "abcd"] == [TaskStatus.MERGED] * 4
        assert (again.exit_code, again.state.spend.total.calls, server.stats()["remaining"]) == (0, 42, {})

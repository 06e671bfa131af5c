"""The gate in front of model calls: what fits begins, what cannot is refused by name, what might later waits."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from orchestrator.config.model import BudgetSettings
from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.budget.price import FREE_PRICE, Price
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Role
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.work import (
    ModelCalled,
    ModelFailed,
    ModelReplied,
    PlanningStarted,
    SessionStarted,
    TaskCreated,
    TaskEnded,
)
from orchestrator.domain.fold.projection import apply_recorded_event
from orchestrator.domain.ids import ROOT_TASK, SessionId, TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Task, TaskStatus
from orchestrator.domain.text.blob_text import Text
from orchestrator.errors import LimitReached, OutOfBudget
from orchestrator.llm.budget import RunBudget
from tests.loopback.builders import request

DOLLAR = Price(input_usd=Decimal(0), output_usd=Decimal(1_000_000))
"""A dollar for each token of output."""
DAY = datetime(2026, 1, 1, tzinfo=UTC)


class Run:
    """A state that grows by events: a planner `ui` below the root, and its leaf `ui/a`."""

    def __init__(self) -> None:
        self.state = RunState(epoch_at=DAY, last_at=DAY)
        self._second = 0
        for name, parent, kind in ((ROOT_TASK, None, "branch"), ("ui", ROOT_TASK, "branch"), ("ui/a", "ui", "leaf")):
            self.add(_created(name, parent, kind))

    def add(self, *events: Event) -> None:
        for event in events:
            at = DAY + timedelta(seconds=self._second)
            apply_recorded_event(self.state, RecordedEvent(self.state.seq + 1, at, event))

    def wait(self, seconds: int) -> None:
        self._second += seconds

    def create(self, name: str, **fields: Any) -> None:
        self.add(_created(name, "ui", "leaf", **fields))

    def calls(self, reserved: Usage, *, role: Role = "worker", task: str = "ui/a", model: str = "") -> ModelCalled:
        """A call under way."""
        session = SessionId(f"{role}:{task}")
        asked = model or f"openai/{role}"
        shared: dict[str, Any] = {"task": TaskId(task), "session": session, "role": role, "model": asked}
        self.add(SessionStarted(**shared, prompt="p", system=Text(), brief=Text()))
        called = ModelCalled(**shared, key=f"{session}~{self.state.seq}", turn=0, reserved=reserved)
        self.add(called)
        return called

    def settles(self, called: ModelCalled, usage: Usage, seconds: float = 0.0) -> None:
        """The call is answered."""
        reply = {"text": Text(), "tool_calls": (), "finish_reason": "stop", "usage": usage, "seconds": seconds}
        self.add(ModelReplied(**_shared(called), model="other-name", **reply))

    def fails(self, called: ModelCalled, error: str) -> None:
        """The call fails."""
        self.add(ModelFailed(**_shared(called), model=called.model, error=error, detail="", retry_in_s=None))

    def spends(self, usage: Usage, **where: Any) -> None:
        """A call that is over."""
        self.settles(self.calls(Usage(calls=1), **where), usage)


def _shared(called: ModelCalled) -> dict[str, Any]:
    return called.model_dump(include={"key", "task", "session", "turn", "role"})


def _created(name: str, parent: str | None, kind: str, **fields: Any) -> TaskCreated:
    spec = {"id": name, "parent": parent, "depth": 0, "kind": kind, "title": name, "outcome": name}
    return TaskCreated(task=TaskId(name), spec=Task.model_validate(spec | fields))


async def asked(run: Run, limits: dict[str, Any], price: Price | None = FREE_PRICE, **call: Any) -> Usage:
    """What one more call of a worker reserves."""
    wanted = {"task": "ui/a", "max_output_tokens": 1, **call}
    return await RunBudget(BudgetSettings.model_validate({"reserve": 0, **limits})).reserve_call(
        run.state, request(**wanted), price
    )


SPENT = Usage(calls=3, input_tokens=900, output_tokens=100, cost_usd=Decimal("1.50"))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"usd": 1.5}, r"the USD budget of \$1.50 for the run is spent \(\$1.50\): resume with a larger one"),
        ({"usd": 2}, r"\$2.00 for the run does not cover another call \(\$1.50 spent, up to \$1.00 wanted\)"),
        ({"tokens": 1_000}, r"the token budget of 1,000 for the run is spent \(1,000\)"),
        ({"calls": 3}, r"the call budget of 3 for the run is spent \(3\)"),
        ({"roles": {"worker": {"calls": 3}}}, "the call budget of 3 for role worker is spent"),
        ({"models": {"openai/worker": {"tokens": 9}}}, "the token budget of 9 for model openai/worker is spent"),
        (
            {"models": {"openai/worker": {"wall_s": 5}}},
            r"the time budget of 5 s for model openai/worker is spent \(7 s",
        ),
    ],
)
async def test_a_limit_of_run_role_or_model_that_leaves_no_room_stops_the_run(
    limits: dict[str, Any], said: str
) -> None:
    run = Run()
    run.settles(run.calls(Usage(calls=1)), SPENT, seconds=7)
    with pytest.raises(LimitReached, match=said):
        await asked(run, limits, DOLLAR)


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"usd": 2.5, "tokens": 2_000, "calls": 4},
        {"roles": {"planner": {"calls": 1}, "worker": {"calls": 4}}},
        {"models": {"openai/other": {"calls": 1}}},
        {"leaf": {"usd": 2.5}, "branch": {"calls": 4}},
    ],
)
async def test_below_every_limit_that_covers_it_a_call_begins(limits: dict[str, Any]) -> None:
    run = Run()
    run.spends(SPENT)
    assert (await asked(run, limits, DOLLAR)).cost_usd == 1


async def test_dollars_alone_do_not_limit_calls_whose_price_nobody_knows() -> None:
    run = Run()
    run.spends(SPENT + Usage(calls=1, unpriced_calls=1))
    with pytest.raises(LimitReached, match=r"\$5.00 for the run cannot be kept.*--set budget.tokens=N.*\[prices\]"):
        await asked(run, {"usd": 5}, None)
    await asked(run, {"usd": 5, "tokens": 9_999}, None)
    await asked(run, {}, None)


async def test_a_task_without_budget_ends_its_session_and_not_the_run() -> None:
    run = Run()
    run.spends(SPENT)
    with pytest.raises(OutOfBudget, match="the call budget of 3 for task ui/a is spent"):
        await asked(run, {"leaf": {"calls": 3}})
    with pytest.raises(OutOfBudget, match="the call budget of 3 for task ui is spent"):
        await asked(run, {"branch": {"calls": 3}})
    run.create("ui/b")
    assert await asked(run, {"leaf": {"calls": 3}}, task="ui/b"), "a sibling has its own"


async def test_the_tighter_of_the_users_and_the_planners_figure_holds() -> None:
    run = Run()
    run.create("ui/b", budget_tokens=5_000, budget_usd=2.0)
    run.spends(SPENT, task="ui/b")
    await asked(run, {}, task="ui/b")
    with pytest.raises(OutOfBudget, match=r"\$2.00 for task ui/b does not cover another call"):
        await asked(run, {}, DOLLAR, task="ui/b")
    with pytest.raises(OutOfBudget, match="budget of 1,000 for task ui/b is spent"):
        await asked(run, {"leaf": {"tokens": 1_000}}, task="ui/b")
    run.spends(Usage(calls=1, unpriced_calls=1), task="ui/b")
    await asked(run, {}, None, task="ui/b")


async def test_the_time_of_a_task_counts_from_its_beginning() -> None:
    run = Run()
    run.wait(50)
    run.add(PlanningStarted(task=TaskId("ui"), round=1))
    run.wait(9)
    run.spends(Usage(calls=1))
    await asked(run, {"branch": {"wall_s": 10}})
    run.wait(1)
    run.spends(Usage(calls=1))
    with pytest.raises(OutOfBudget, match=r"the time budget of 10 s for task ui is spent \(10 s\)"):
        await asked(run, {"branch": {"wall_s": 10}})
    run.add(TaskEnded(task=TaskId("ui"), status=TaskStatus.REJECTED, reason="late"))
    run.wait(99)
    run.spends(Usage(calls=1), task=ROOT_TASK)
    assert Accounts(run.state, BudgetSettings()).get_task_account(TaskId("ui")).wall_s == 10, "it ended then"


async def test_only_the_judge_may_use_what_is_held_back() -> None:
    run = Run()
    run.spends(Usage(calls=90))
    limits = {"calls": 100, "reserve": 0.1, "leaf": {"calls": 1}}
    with pytest.raises(LimitReached, match=r"90 for the run \(10% of it is kept for the judge\) is spent"):
        await asked(run, limits)
    assert await asked(run, limits, role="judge"), "whom a task's own limit does not hold up either"
    run.spends(Usage(calls=10))
    with pytest.raises(LimitReached, match="100 for the run is spent"):
        await asked(run, limits, role="judge")


async def test_a_call_that_was_perhaps_billed_counts_as_what_it_had_reserved() -> None:
    run = Run()
    run.fails(run.calls(Usage(calls=1, cost_usd=Decimal(2))), "timed-out")
    run.fails(run.calls(Usage(calls=1, cost_usd=Decimal(5))), "unavailable")
    assert (run.state.spend.total.calls, run.state.spend.at_risk.cost_usd, run.state.spend.possibly_billed_calls) == (
        0,
        2,
        1,
    )
    assert (
        run.state.spend.at_risk_by_node[ROOT_TASK]
        == run.state.spend.at_risk_by_role["worker"]
        == run.state.spend.at_risk
    )
    assert (await asked(run, {"usd": 3}, DOLLAR)).cost_usd == 1
    with pytest.raises(LimitReached, match=r"\$2.00 spent"):
        await asked(run, {"usd": "2.5"}, DOLLAR)


async def test_what_is_reserved_by_a_call_under_way_is_waited_for() -> None:
    run, begun = Run(), []
    budget = RunBudget(BudgetSettings(usd=10, reserve=0))

    async def ask(name: str) -> None:
        reserved = await budget.reserve_call(run.state, request(task="ui/a", max_output_tokens=6), DOLLAR)
        begun.append((name, run.calls(reserved)))

    async with anyio.create_task_group() as group:
        group.start_soon(ask, "first")
        group.start_soon(ask, "second")
        await settle()
        assert [name for name, _ in begun] == ["first"]
        run.settles(begun[0][1], Usage(calls=1, cost_usd=Decimal(2)))
        budget.settle_call()
        await settle()
        assert [name for name, _ in begun] == ["first", "second"]


async def test_nobody_waits_for_a_call_that_no_process_is_making() -> None:
    run = Run()
    run.calls(Usage(calls=1, cost_usd=Decimal(6)))
    with pytest.raises(LimitReached, match="does not cover another call"):
        await asked(run, {"usd": 10}, DOLLAR, max_output_tokens=6)


async def settle(turns: int = 10) -> None:
    for _ in range(turns):
        await checkpoint()


def test_models_are_booked_as_they_were_asked_for() -> None:
    run = Run()
    run.spends(SPENT, model="openai/gpt-5")
    assert run.state.spend.by_model == {"openai/gpt-5": SPENT}


def total(amounts: Iterable[Usage]) -> Usage:
    return sum(amounts, Usage())


def test_a_task_is_charged_for_all_below_it() -> None:
    run = Run()
    run.spends(SPENT)
    run.spends(SPENT, role="planner", task="ui")
    run.spends(SPENT, role="planner", task=ROOT_TASK)
    by_node = {name: usage.calls for name, usage in run.state.spend.by_node.items()}
    assert by_node == {ROOT_TASK: 9, "ui": 6, "ui/a": 3}
    assert total(run.state.spend.by_task.values()) == run.state.spend.total

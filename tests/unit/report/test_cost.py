"""What a run cost, told from a journal: everything adds up, and what did not land is named as waste."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.event.work import (
    AttemptEnded,
    AttemptStarted,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    PlanRefused,
    SessionStarted,
    TaskCreated,
    TaskEnded,
    VerdictGiven,
)
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.ids import ROOT_TASK, CommitId, RunId, SessionId, TaskId, TreeId, UnitId
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.judging.verdict import Verdict, VerdictKind
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Attempt, AttemptMode, Exit, Task, TaskStatus
from orchestrator.domain.text.blob_text import Text
from orchestrator.report.cost.breakdown import CostBreakdown, RefusedPlanLog, build_cost_breakdown
from orchestrator.report.cost.rendering import build_cost_report, render_cost_lines

DAY = datetime(2026, 1, 1, tzinfo=UTC)
BASE = CommitId("b" * 40)


def told(events: Sequence[Event]) -> tuple[RunState, CostBreakdown]:
    refused = RefusedPlanLog()
    recorded = [RecordedEvent(n, DAY, event) for n, event in enumerate(events, 1)]
    refused.record_events(recorded)
    state = fold_events(recorded)
    return state, build_cost_breakdown(state, refused)


def begun(budget: dict[str, Any] | None = None) -> list[Event]:
    started = RunStarted(
        run=RunId("r"),
        mode="goal",
        goal="g",
        started_at=DAY,
        repository="/r",
        base=BASE,
        base_tree=TreeId("c" * 40),
        branch="x",
        target="main",
        settings={"budget": budget or {}},
    )
    return [started, created(ROOT_TASK, None, "branch")]


def created(name: str, parent: str | None = ROOT_TASK, kind: str = "leaf") -> TaskCreated:
    depth = 0 if parent is None else 1 + name.count("/")
    spec = {"id": name, "parent": parent, "depth": depth, "kind": kind, "title": name, "outcome": name}
    return TaskCreated(task=TaskId(name), spec=Task.model_validate(spec))


def asks(session: str, task: str, role: str, usage: Usage | None, turn: int = 0, **fields: Any) -> list[Event]:
    """A call of a conversation: answered, or lost when there is no usage."""
    where: dict[str, Any] = {"task": TaskId(task), "session": SessionId(session), "role": role}
    start = SessionStarted(**where, model=f"openai/{role}", prompt="p", system=Text(), brief=Text())
    key = f"model/{session}/{turn}~0"
    reserved = Usage(calls=1, output_tokens=7, cost_usd=Decimal("0.07"))
    called = ModelCalled(**where, key=key, turn=turn, model=f"openai/{role}", reserved=reserved)
    if usage is None:
        end: Event = ModelFailed(
            **where, key=key, turn=turn, model="m", error=fields["error"], detail="", retry_in_s=None
        )
    else:
        said = {"text": Text(), "tool_calls": (), "finish_reason": "stop", "seconds": 1.0}
        end = ModelReplied(**where, key=key, turn=turn, model="m", usage=usage, **said)
    return [*([start] if turn == 0 else []), called, end]


def attempt(name: str, number: int, cents: int, mode: AttemptMode = "fresh", **fields: Any) -> list[Event]:
    """A try at a task that cost so much."""
    begin = Attempt(task=TaskId(name), number=number, mode=mode, base=BASE, model="openai/worker", **fields)
    return [
        AttemptStarted(task=TaskId(name), attempt=begin),
        *asks(f"work:{name}@{number}", name, "worker", usd(cents)),
        AttemptEnded(task=TaskId(name), number=number, exit=Exit.FINISHED),
    ]


def verdict(name: str, number: int, kind: VerdictKind) -> VerdictGiven:
    return VerdictGiven(task=TaskId(name), number=number, verdict=Verdict(kind=kind, reasons=("r",)))


def usd(cents: int) -> Usage:
    return Usage(calls=1, output_tokens=cents, cost_usd=Decimal(cents) / 100)


def costs(cost: CostBreakdown) -> dict[str, int]:
    """Cents by cause of waste."""
    return {entry.name: int(entry.spent.cost_usd * 100) for entry in cost.waste}


def test_every_side_adds_up_to_the_whole() -> None:
    events = [
        *begun(),
        *asks("plan", ROOT_TASK, "planner", usd(10)),
        created("ui", kind="branch"),
        created("ui/a", "ui"),
        *asks("plan:ui", "ui", "planner", usd(20)),
        *attempt("ui/a", 1, 30),
        *asks("review", "ui/a", "judge", usd(40)),
    ]
    state, cost = told(events)
    assert {entry.name: entry.spent.cost_usd for entry in cost.tasks} == {
        ROOT_TASK: 1,
        "ui": Decimal("0.9"),
        "ui/a": Decimal("0.7"),
    }
    assert [(entry.name, entry.spent.cost_usd) for entry in cost.attempts] == [("ui/a@1", Decimal("0.7"))]
    for side in (cost.roles, cost.models):
        assert sum((entry.spent for entry in side), Usage()) == state.spend.total
    assert (cost.measure, cost.get_share(usd(40)), cost.waste) == ("usd", 0.4, ())


@pytest.mark.parametrize(
    ("between", "second", "waste"),
    [
        ([verdict("a", 1, VerdictKind.RESTART)], {"mode": "restart"}, {"restarted attempts": 10}),
        ([verdict("a", 1, VerdictKind.REVISE)], {"mode": "revise", "start": BASE}, {}),
        ([verdict("a", 1, VerdictKind.MERGE)], {"mode": "restart", "start": BASE}, {"restarted attempts": 10}),
        ([], {"mode": "fresh"}, {"superseded attempts": 10}),
        (
            [
                verdict("a", 1, VerdictKind.MERGE),
                UnitEjected(unit=UnitId("a@1"), round="1", conflict=("x",), difference=Difference()),
            ],
            {"mode": "restart"},
            {"ejected attempts": 10},
        ),
    ],
)
def test_an_attempt_is_waste_unless_a_later_one_went_on_from_its_files(
    between: list[Event], second: dict[str, Any], waste: dict[str, int]
) -> None:
    tried = [*begun(), created("a"), *attempt("a", 1, 10), *between, *attempt("a", 2, 5, **second)]
    assert costs(told(tried)[1]) == waste
    rejected = TaskEnded(task=TaskId("a"), status=TaskStatus.REJECTED, reason="no")
    _, cost = told([*tried, rejected])
    assert cost.wasted.cost_usd == Decimal("0.15"), "in the end none of it landed"
    assert set(costs(cost)) == {*waste, "rejected attempts"}


def test_refused_plans_and_branches_that_came_to_nothing_are_waste_once() -> None:
    events = [
        *begun(),
        *asks("plan", ROOT_TASK, "planner", usd(10)),
        PlanRefused(task=ROOT_TASK, round=1, problems=("x",)),
        PlanRefused(task=ROOT_TASK, round=1, problems=("told again after a crash",)),
        *asks("plan", ROOT_TASK, "planner", usd(20), turn=1),
        created("ui", kind="branch"),
        *asks("plan:ui", "ui", "planner", usd(30)),
        PlanRefused(task=TaskId("ui"), round=1, problems=("x",)),
        TaskEnded(task=TaskId("ui"), status=TaskStatus.REJECTED, reason="gave up"),
    ]
    assert costs(told(events)[1]) == {"refused plans": 10, "planning of rejected branches": 30}


def test_what_may_have_been_billed_stands_apart_and_what_has_no_price_is_unknown() -> None:
    events = [
        *begun({"usd": 5.0, "tokens": 1_000}),
        created("a"),
        *attempt("a", 1, 10)[:-1],
        *asks("work:a@1", "a", "worker", None, turn=1, error="lost"),
        *asks("work:a@1", "a", "worker", Usage(calls=1, output_tokens=5, unpriced_calls=1), turn=2),
    ]
    state, cost = told(events)
    shown = build_cost_report(state, cost).as_object()
    assert (shown["total"]["usd"], shown["total"]["usd_known"], shown["share_of"]) == (None, 0.1, "tokens")
    assert (shown["at_risk"]["usd"], shown["at_risk"]["possibly_billed_calls"]) == (0.07, 1)
    assert shown["attempts"][0]["at_risk"]["usd"] == 0.07
    assert shown["budget"]["limit"] == {"usd": 5.0, "tokens": 1_000}
    lines = list(render_cost_lines(state, cost))
    assert lines[:3] == [
        "run r: cost $0.10 + unknown, 15 tokens in 2 model calls",
        "  budget: $5.00, 1,000 tokens",
        "  at risk: up to $0.07 (1 calls, 7 tokens) for calls whose end nobody knows; budgets count it as spent",
    ]


def test_a_call_under_way_is_shown_as_reserved() -> None:
    state, cost = told([*begun(), created("a"), *attempt("a", 1, 10)[:-2]])
    assert build_cost_report(state, cost).reserved.usd == 0.07
    assert "  reserved: $0.07 (1 calls, 7 tokens) by calls under way" in list(render_cost_lines(state, cost))

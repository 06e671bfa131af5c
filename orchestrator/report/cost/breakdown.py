"""Break the cost of a run down by task, role, model, attempt and cause of waste."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import ClassVar

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event import RecordedEvent, work
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.session_state import SessionState
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.report.cost.model import CostMeasure
from orchestrator.report.task.attempt_fates import get_attempt_fates, get_task_fate

NO_USAGE = Usage()
_NO_WASTE = frozenset({"landed", "open"})


@dataclass(frozen=True)
class CostEntry:
    """The cost of one thing: `spent` for sure, `at_risk` for calls whose end nobody knows."""

    name: str
    spent: Usage
    at_risk: Usage = NO_USAGE
    count: int = 1
    detail: str = ""


@dataclass(frozen=True)
class CostBreakdown:
    """A run's cost from every side. `tasks` are with all below them, in the order of the tree."""

    total: CostEntry
    measure: CostMeasure
    tasks: tuple[CostEntry, ...]
    roles: tuple[CostEntry, ...]
    models: tuple[CostEntry, ...]
    attempts: tuple[CostEntry, ...]
    waste: tuple[CostEntry, ...]

    @property
    def wasted(self) -> Usage:
        """All that went into work that did not land."""
        return Usage.sum_of(entry.spent for entry in self.waste)

    def get_share(self, usage: Usage) -> float:
        """Return an amount's part of the whole, from 0 to 1: in dollars if every price is known, else in tokens."""
        whole = _get_size(self.total.spent, self.measure)
        return float(_get_size(usage, self.measure) / whole) if whole else 0.0


class RefusedPlanLog:
    """Sums the cost of refused plans by the planner's task, from the events of a journal."""

    def __init__(self) -> None:
        self.spent: dict[TaskId, list[Usage]] = {}
        self._latest: dict[TaskId, Usage] = {}

    KINDS: ClassVar = ("model.replied", "plan.refused")

    def record_events(self, events: Iterable[RecordedEvent]) -> None:
        """Take in events, of which only those of `KINDS` matter."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, work.ModelReplied) and event.role == "planner" and event.task is not None:
                self._latest[event.task] = event.usage
            elif isinstance(event, work.PlanRefused) and event.task in self._latest:
                self.spent.setdefault(event.task, []).append(self._latest.pop(event.task))


def build_cost_breakdown(state: RunState, refused: RefusedPlanLog) -> CostBreakdown:
    """Return the cost of a run; `refused` has seen the events that `state` was folded from."""
    tasks = tuple(_iterate_tree(state))
    sessions: dict[tuple[TaskId | None, int], list[SessionState]] = {}
    for session in state.sessions.values():
        if session.role != "planner":
            sessions.setdefault((session.task, session.attempt), []).append(session)
    attempts = {}
    for task in tasks:
        attempts[task.spec.id] = tuple(_build_attempt_entries(task, sessions))
    return CostBreakdown(
        total=CostEntry("run", state.spend.total, state.spend.at_risk, state.spend.total.calls),
        measure=_choose_measure(state.spend.total),
        tasks=tuple(_build_task_entry(state, task) for task in tasks),
        roles=tuple(_build_entries(state.spend.by_role, state.spend.at_risk_by_role)),
        models=tuple(_build_entries(state.spend.by_model, state.spend.at_risk_by_model)),
        attempts=tuple(chain.from_iterable(attempts.values())),
        waste=tuple(_build_waste_entries(state, attempts, refused)),
    )


def _build_task_entry(state: RunState, task: TaskState) -> CostEntry:
    name = task.spec.id
    spent, at_risk = state.spend.by_node.get(name, NO_USAGE), state.spend.at_risk_by_node.get(name, NO_USAGE)
    return CostEntry(name, spent, at_risk, len(task.attempts), task.status.value)


def _iterate_tree(state: RunState) -> Iterator[TaskState]:
    below: dict[TaskId | None, list[TaskState]] = {}
    for task in state.tasks.values():
        below.setdefault(task.spec.parent, []).append(task)
    stack = list(reversed(below.get(None, [])))
    while stack:
        task = stack.pop()
        yield task
        stack.extend(reversed(below.get(task.spec.id, [])))


def _build_entries(spent: Mapping[str, Usage], at_risk: Mapping[str, Usage]) -> Iterator[CostEntry]:
    for name in sorted({*spent, *at_risk}):
        usage = spent.get(name, NO_USAGE)
        yield CostEntry(name, usage, at_risk.get(name, NO_USAGE), usage.calls)


def _build_attempt_entries(
    task: TaskState, sessions: Mapping[tuple[TaskId | None, int], list[SessionState]]
) -> Iterator[CostEntry]:
    """Yield each attempt with its reviews."""
    for number, fate in get_attempt_fates(task).items():
        own = sessions.get((task.spec.id, number), [])
        yield CostEntry(
            f"{task.spec.id}@{number}",
            Usage.sum_of(session.spent for session in own),
            Usage.sum_of(session.at_risk for session in own),
            detail=fate,
        )


def _build_waste_entries(
    state: RunState, attempts: Mapping[TaskId, tuple[CostEntry, ...]], refused: RefusedPlanLog
) -> Iterator[CostEntry]:
    """Yield the waste by cause: attempts that did not land, planning of failed branches, refused plans."""
    causes: dict[str, list[Usage]] = {}
    for name, tried in attempts.items():
        for attempt in tried:
            if attempt.detail not in _NO_WASTE:
                causes.setdefault(f"{attempt.detail} attempts", []).append(attempt.spent)
        end = get_task_fate(state.tasks[name])
        if state.tasks[name].spec.kind == "branch" and end not in _NO_WASTE:
            causes.setdefault(f"planning of {end} branches", []).append(state.spend.by_task.get(name, NO_USAGE))
        elif name in refused.spent:
            causes.setdefault("refused plans", []).extend(refused.spent[name])
    for cause, amounts in sorted(causes.items()):
        yield CostEntry(cause, Usage.sum_of(amounts), count=len(amounts))


def _choose_measure(spent: Usage) -> CostMeasure:
    if spent.cost_usd and not spent.unpriced_calls:
        return "usd"
    if spent.tokens:
        return "tokens"
    return "calls"


def _get_size(usage: Usage, measure: CostMeasure) -> Decimal:
    if measure == "usd":
        return usage.cost_usd
    return Decimal(usage.tokens if measure == "tokens" else usage.calls)

"""What a run cost: by task, role, model and attempt, and by what was wasted. A projection of its journal."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Literal

from orchestrator.domain.event import Recorded, work
from orchestrator.domain.ids import TaskId
from orchestrator.domain.state import RunState, SessionState, TaskState
from orchestrator.domain.usage import Usage
from orchestrator.report.fates import ended, fates

NOTHING = Usage()
_NO_WASTE = frozenset({"landed", "open"})
Measure = Literal["usd", "tokens", "calls"]


@dataclass(frozen=True)
class Entry:
    """One line: what `spent` went to. `at_risk` is what calls may have cost whose end nobody knows."""

    name: str
    spent: Usage
    at_risk: Usage = NOTHING
    count: int = 1
    detail: str = ""


@dataclass(frozen=True)
class Cost:
    """A run's cost from every side. `tasks` are with all below them, in the order of the tree."""

    total: Entry
    measure: Measure
    tasks: tuple[Entry, ...]
    roles: tuple[Entry, ...]
    models: tuple[Entry, ...]
    attempts: tuple[Entry, ...]
    waste: tuple[Entry, ...]

    @property
    def wasted(self) -> Usage:
        """All that went into work that did not land."""
        return Usage.total(entry.spent for entry in self.waste)

    def share(self, usage: Usage) -> float:
        """Which part of the whole an amount is, from 0 to 1: in dollars where every price is known, else in tokens."""
        whole = _size(self.total.spent, self.measure)
        return float(_size(usage, self.measure) / whole) if whole else 0.0


class RefusedPlans:
    """Watches a journal go by and sums, by planner's task, the replies whose plan was refused."""

    def __init__(self) -> None:
        self.spent: dict[TaskId, list[Usage]] = {}
        self._latest: dict[TaskId, Usage] = {}

    KINDS: ClassVar = ("model.replied", "plan.refused")

    def watch(self, events: Iterable[Recorded]) -> None:
        """Take in events, of which only those of `KINDS` matter."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, work.ModelReplied) and event.role == "planner" and event.task is not None:
                self._latest[event.task] = event.usage
            elif isinstance(event, work.PlanRefused) and event.task in self._latest:
                self.spent.setdefault(event.task, []).append(self._latest.pop(event.task))


def cost_of(state: RunState, refused: RefusedPlans) -> Cost:
    """The cost of a run; `refused` has watched the events that `state` was folded from."""
    tasks = tuple(_in_tree_order(state))
    sessions: dict[tuple[TaskId | None, int], list[SessionState]] = {}
    for session in state.sessions.values():
        if session.role != "planner":
            sessions.setdefault((session.task, session.attempt), []).append(session)
    attempts = {task.spec.id: tuple(_attempts(task, sessions)) for task in tasks}
    return Cost(
        total=Entry("run", state.spent, state.at_risk, state.spent.calls),
        measure=_measure(state.spent),
        tasks=tuple(
            Entry(
                task.spec.id,
                state.spent_by_node.get(task.spec.id, NOTHING),
                state.at_risk_by_node.get(task.spec.id, NOTHING),
                len(task.attempts),
                task.status.value,
            )
            for task in tasks
        ),
        roles=tuple(_entries(state.spent_by_role, state.at_risk_by_role)),
        models=tuple(_entries(state.spent_by_model, state.at_risk_by_model)),
        attempts=tuple(attempt for task in tasks for attempt in attempts[task.spec.id]),
        waste=tuple(_waste(state, attempts, refused)),
    )


def _in_tree_order(state: RunState) -> Iterator[TaskState]:
    below: dict[TaskId | None, list[TaskState]] = {}
    for task in state.tasks.values():
        below.setdefault(task.spec.parent, []).append(task)
    stack = list(reversed(below.get(None, [])))
    while stack:
        task = stack.pop()
        yield task
        stack.extend(reversed(below.get(task.spec.id, [])))


def _entries(spent: Mapping[str, Usage], at_risk: Mapping[str, Usage]) -> Iterator[Entry]:
    for name in sorted({*spent, *at_risk}):
        usage = spent.get(name, NOTHING)
        yield Entry(name, usage, at_risk.get(name, NOTHING), usage.calls)


def _attempts(task: TaskState, sessions: Mapping[tuple[TaskId | None, int], list[SessionState]]) -> Iterator[Entry]:
    """Each attempt with its reviews."""
    for number, fate in fates(task).items():
        own = sessions.get((task.spec.id, number), [])
        yield Entry(
            f"{task.spec.id}@{number}",
            Usage.total(session.spent for session in own),
            Usage.total(session.at_risk for session in own),
            detail=fate,
        )


def _waste(state: RunState, attempts: Mapping[TaskId, tuple[Entry, ...]], refused: RefusedPlans) -> Iterator[Entry]:
    """By cause: attempts that did not land, planning of branches that came to nothing, plans that were refused."""
    causes: dict[str, list[Usage]] = {}
    for name, tried in attempts.items():
        for attempt in tried:
            if attempt.detail not in _NO_WASTE:
                causes.setdefault(f"{attempt.detail} attempts", []).append(attempt.spent)
        end = ended(state.tasks[name])
        if state.tasks[name].spec.kind == "branch" and end not in _NO_WASTE:
            causes.setdefault(f"planning of {end} branches", []).append(state.spent_by_task.get(name, NOTHING))
        elif name in refused.spent:
            causes.setdefault("refused plans", []).extend(refused.spent[name])
    for cause, amounts in sorted(causes.items()):
        yield Entry(cause, Usage.total(amounts), count=len(amounts))


def _measure(spent: Usage) -> Measure:
    if spent.cost_usd and not spent.unpriced_calls:
        return "usd"
    return "tokens" if spent.tokens else "calls"


def _size(usage: Usage, measure: Measure) -> Decimal:
    return usage.cost_usd if measure == "usd" else Decimal(usage.tokens if measure == "tokens" else usage.calls)

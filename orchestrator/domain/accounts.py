"""How far each limit of a run is used: a projection of its state. Open calls of the journal are the reservations."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cached_property

from orchestrator.domain.budget import Account, Limit, RunLimits, left
from orchestrator.domain.chat import Role
from orchestrator.domain.event.work import ModelCalled
from orchestrator.domain.ids import ROOT, TaskId
from orchestrator.domain.state import RunState
from orchestrator.domain.task import Task
from orchestrator.domain.usage import Usage

NOTHING = Usage()
Least = tuple[Decimal | None, int | None]


class Accounts:
    """The accounts of one run at one moment."""

    def __init__(self, state: RunState, limits: RunLimits) -> None:
        self._state = state
        self._limits = limits
        self._open = [intent for intent in state.open_intents.values() if isinstance(intent, ModelCalled)]

    def covering(self, role: Role, model: str, task: TaskId) -> Iterator[Account]:
        """Every account with a limit that covers a call: of the run, its role, its model, its task and those above.

        Limits of tasks do not hold for the judge, so that what a task has finished can be judged.
        """
        limits, share = self._limits, 0.0 if role == "judge" else self._limits.reserve
        if limits.is_set:
            yield self.run(share)
        if role in limits.roles:
            yield self.role(role)
        if model in limits.models:
            yield self.model(model, share)
        if role != "judge":
            yield from (self.node(node) for node in self._state.lineage(task) if self.limit(node).is_set)

    def run(self, held_back: float = 0.0) -> Account:
        """The whole run, without the share that is held back."""
        state = self._state
        name = f"the run{_kept(held_back)}"
        reserved = self._reserved(lambda _: True)
        return Account(name, self._limits.less(held_back), state.spent, state.at_risk, reserved, state.wall_s)

    def role(self, role: Role) -> Account:
        """One role."""
        state = self._state
        return Account(
            f"role {role}",
            self._limits.roles.get(role, Limit()),
            state.spent_by_role.get(role, NOTHING),
            state.at_risk_by_role.get(role, NOTHING),
            self._reserved(lambda called: called.role == role),
            state.call_s_by_role.get(role, 0.0),
            place=("roles", role),
        )

    def model(self, model: str, held_back: float = 0.0) -> Account:
        """One model, as it is configured."""
        state = self._state
        return Account(
            f"model {model}{_kept(held_back)}",
            self._limits.models.get(model, Limit()).less(held_back),
            state.spent_by_model.get(model, NOTHING),
            state.at_risk_by_model.get(model, NOTHING),
            self._reserved(lambda called: called.model == model),
            state.call_s_by_model.get(model, 0.0),
            place=("models", model),
        )

    def node(self, task: TaskId) -> Account:
        """One task with all below it; its time runs from when work at it began."""
        state, spec = self._state, self._state.tasks[task].spec
        begun_s = state.begun_s.get(task)
        return Account(
            f"task {task}",
            self.limit(task),
            state.spent_by_node.get(task, NOTHING),
            state.at_risk_by_node.get(task, NOTHING),
            Usage.total(self._reserved_by_node.get(task, ())),
            0.0 if begun_s is None else state.ended_s.get(task, state.wall_s) - begun_s,
            is_task=True,
            is_given=not self._usual(spec).usd and not state.files,  # a step's limit is its recipe's
        )

    def limit(self, task: TaskId) -> Limit:
        """The tighter of what the configuration allows a task and what its planner gave it."""
        spec = self._state.tasks[task].spec
        return self._usual(spec).within(spec.budget_usd, spec.budget_tokens)

    def _usual(self, task: Task) -> Limit:
        if task.id == ROOT:
            return Limit()
        return self._limits.leaf if task.kind == "leaf" else self._limits.branch

    def left(self, task: TaskId) -> Least:
        """Dollars and tokens that a task may still give to new children, None for no bound: the least that it and
        everything above it has left.
        """
        above = [self.run(self._limits.reserve), *map(self.node, self._state.lineage(task))]
        rests = [left(account.limit, account.booked + account.reserved) for account in above]
        usd = [rest[0] for rest in rests if rest[0] is not None]
        tokens = [rest[1] for rest in rests if rest[1] is not None]
        return min(usd, default=None), min(tokens, default=None)

    def _reserved(self, covers: Callable[[ModelCalled], bool]) -> Usage:
        return Usage.total(called.reserved for called in self._open if covers(called))

    @cached_property
    def _reserved_by_node(self) -> dict[TaskId, list[Usage]]:
        found: dict[TaskId, list[Usage]] = {}
        for called in self._open:
            for node in self._state.lineage(called.task):
                found.setdefault(node, []).append(called.reserved)
        return found


def _kept(share: float) -> str:
    return f" ({share:.0%} of it is kept for the judge)" if share else ""

"""The use of each limit of a run: a projection of its state. Open calls of the journal are the reservations."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cached_property

from orchestrator.domain.budget.limits import Account, Limit, RunLimits, compute_remaining
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Role
from orchestrator.domain.event.work import ModelCalled
from orchestrator.domain.ids import ROOT_TASK, TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Task

NO_USAGE = Usage()
_JUDGING_ROLES: frozenset[Role] = frozenset({"judge", "verifier"})
"""The roles without which nothing that is finished can land."""
RemainingBudget = tuple[Decimal | None, int | None]


class Accounts:
    """The accounts of one run at one moment."""

    def __init__(self, state: RunState, limits: RunLimits) -> None:
        self._state = state
        self._limits = limits
        self._open = [intent for intent in state.open_intents.values() if isinstance(intent, ModelCalled)]

    def iterate_call_accounts(self, role: Role, model: str, task: TaskId) -> Iterator[Account]:
        """Yield every account with a limit that covers a call: of the run, role, model, task and the tasks above.

        Limits of tasks do not hold for the judge, so that what a task has finished can be judged; nor for the verifier.
        """
        is_judging = role in _JUDGING_ROLES
        limits, share = self._limits, 0.0 if is_judging else self._limits.reserve
        if limits.is_set:
            yield self.get_run_account(share)
        if role in limits.roles:
            yield self.get_role_account(role)
        if model in limits.models:
            yield self.get_model_account(model, share)
        if not is_judging:
            for node in self._state.iterate_lineage(task):
                if self.get_task_limit(node).is_set:
                    yield self.get_task_account(node)

    def get_run_account(self, reserve_share: float = 0.0) -> Account:
        """Return the account of the whole run, without the share that is held back."""
        spend, limit = self._state.spend, self._limits.reduce_by_share(reserve_share)
        reserved = self._sum_reserved(lambda _: True)
        name = f"the run{_describe_reserve(reserve_share)}"
        return Account(name, limit, spend.total, spend.at_risk, reserved, self._state.wall_s)

    def get_role_account(self, role: Role) -> Account:
        """Return the account of one role."""
        spend, limit = self._state.spend, self._limits.roles.get(role, Limit())
        used = (spend.by_role.get(role, NO_USAGE), spend.at_risk_by_role.get(role, NO_USAGE))
        reserved = self._sum_reserved(lambda call: call.role == role)
        seconds = spend.call_s_by_role.get(role, 0.0)
        return Account(f"role {role}", limit, *used, reserved, seconds, config_path=("roles", role))

    def get_model_account(self, model: str, reserve_share: float = 0.0) -> Account:
        """Return the account of one model, named as configured."""
        spend, limit = self._state.spend, self._limits.models.get(model, Limit()).reduce_by_share(reserve_share)
        used = (spend.by_model.get(model, NO_USAGE), spend.at_risk_by_model.get(model, NO_USAGE))
        reserved = self._sum_reserved(lambda call: call.model == model)
        seconds = spend.call_s_by_model.get(model, 0.0)
        name = f"model {model}{_describe_reserve(reserve_share)}"
        return Account(name, limit, *used, reserved, seconds, config_path=("models", model))

    def get_task_account(self, task: TaskId) -> Account:
        """Return the account of one task with all below it; its time runs from when work at it began."""
        state, spend = self._state, self._state.spend
        used = (spend.by_node.get(task, NO_USAGE), spend.at_risk_by_node.get(task, NO_USAGE))
        reserved = Usage.sum_of(self._reserved_by_node.get(task, ()))
        begun_s = state.task_begun_s.get(task)
        seconds = 0.0 if begun_s is None else state.task_ended_s.get(task, state.wall_s) - begun_s
        name, limit, is_from_recipe = f"task {task}", self.get_task_limit(task), bool(state.migration.files)
        is_from_planner = not self._get_configured_limit(state.tasks[task].spec).usd and not is_from_recipe
        return Account(name, limit, *used, reserved, seconds, is_task=True, is_from_planner=is_from_planner)

    def has_reserved(self, task: TaskId) -> bool:
        """Return True if calls are open that are reserved to a task, or to one below it."""
        return task in self._reserved_by_node

    def get_task_limit(self, task: TaskId) -> Limit:
        """Return the tighter of two limits of a task: the configuration's and its planner's."""
        spec = self._state.tasks[task].spec
        return self._get_configured_limit(spec).tighten_to(spec.budget_usd, spec.budget_tokens)

    def _get_configured_limit(self, task: Task) -> Limit:
        if task.id == ROOT_TASK:
            return Limit()
        if task.kind == "leaf":
            return self._limits.leaf
        return self._limits.branch

    def get_remaining_budget(self, task: TaskId) -> RemainingBudget:
        """Return the dollars and tokens that a task may still give to new children, None for no bound.

        It is the least that the task and everything above it has left.
        """
        tasks = map(self.get_task_account, self._state.iterate_lineage(task))
        accounts = [self.get_run_account(self._limits.reserve), *tasks]
        remainders = []
        for account in accounts:
            remainders.append(compute_remaining(account.limit, account.booked + account.reserved))
        usd = [remainder[0] for remainder in remainders if remainder[0] is not None]
        tokens = [remainder[1] for remainder in remainders if remainder[1] is not None]
        return min(usd, default=None), min(tokens, default=None)

    def _sum_reserved(self, covers: Callable[[ModelCalled], bool]) -> Usage:
        return Usage.sum_of(call.reserved for call in self._open if covers(call))

    @cached_property
    def _reserved_by_node(self) -> dict[TaskId, list[Usage]]:
        reservations: dict[TaskId, list[Usage]] = {}
        for call in self._open:
            for node in self._state.iterate_lineage(call.task):
                reservations.setdefault(node, []).append(call.reserved)
        return reservations


def _describe_reserve(share: float) -> str:
    return f" ({share:.0%} of it is kept for the judge)" if share else ""

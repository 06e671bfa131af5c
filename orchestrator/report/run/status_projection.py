"""The status that an engine keeps for readers, rendered again and again while its run goes on."""

import json
from pathlib import Path
from typing import Any

from orchestrator.config.model import BudgetSettings
from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.report.cost.budgets import get_budget_limits
from orchestrator.report.run.result import build_planned_task, build_status


class StatusProjection:
    """Renders the status of one run as JSON; a task of which nothing has changed since is not rendered again."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._limits: BudgetSettings | None = None
        self._rendered: dict[TaskId, tuple[tuple[object, ...], str]] = {}

    def render_json(self, state: RunState) -> str:
        """Return the status, as `render_status_json` does."""
        limits = get_budget_limits(state)
        if limits != self._limits:
            self._limits, self._rendered = limits, {}
        accounts = Accounts(state, limits)
        plan = [self._render_task(state, task, accounts) for task in state.tasks.values()]
        document = build_status(state, self._journal, has_plan=False).as_object()
        fields = [f"{_dump(name)}: {_dump(value)}" for name, value in document.items() if name != "plan"]
        fields.append(f'"plan": [{", ".join(plan)}]')
        return "{" + ", ".join(fields) + "}"

    def _render_task(self, state: RunState, task: TaskState, accounts: Accounts) -> str:
        """Return a task as JSON; what its time or its open calls change is rendered each time."""
        name, spend = task.spec.id, state.spend
        begun_s, ended_s = state.task_begun_s.get(name), state.task_ended_s.get(name)
        usages = (spend.by_task.get(name), spend.by_node.get(name), spend.at_risk_by_node.get(name))
        facts = (task, *usages, begun_s, ended_s)
        is_settled = (begun_s is None) == (ended_s is None) and not accounts.has_reserved(name)
        known = self._rendered.get(name)
        if is_settled and known is not None and all(map(_is_same, known[0], facts)):
            return known[1]
        text = _dump(build_planned_task(state, task, accounts).as_object())
        if is_settled:
            self._rendered[name] = (facts, text)
        return text


def _is_same(left: object, right: object) -> bool:
    return left is right


def _dump(value: Any) -> str:  # noqa: ANN401
    return json.dumps(value, ensure_ascii=False)

"""Build the status of a run, for `status --json` and for the text that a person reads."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.report.cost.budgets import build_account_usage, build_accounts, build_budgets
from orchestrator.report.run.model import LandedUnits, PlannedAttempt, PlannedTask, PlannedVerdict, RunStatus
from orchestrator.report.run.result import build_run_result

if TYPE_CHECKING:
    from orchestrator.report.migration.burndown_model import Burndown

STATUS_PROJECTION = "status"
"""The name under which the journal keeps this projection."""


def render_status_json(state: RunState, journal: Path) -> str:
    """Return the status as JSON, for the journal's projection."""
    return json.dumps(build_status(state, journal).as_object(), ensure_ascii=False)


def build_status(state: RunState, journal: Path) -> RunStatus:
    """Return where a run stands; its reader fills in `is_live` and `disk`."""
    accounts = build_accounts(state)
    return RunStatus(
        **build_run_result(state, journal).copy_fields(),
        seq=state.seq,
        budget=build_budgets(state),
        plan=tuple(_build_task(state, task, accounts) for task in state.tasks.values()),
        file_status=Counter(file.status for file in state.migration.files.values()),
        steps=state.migration.step_seconds,
        trials=len(state.trials),
        landings=tuple(LandedUnits(commit=landing.new, units=landing.units) for landing in state.landings),
        burndown=_build_burndown(state),
        models=tuple(sorted({session.model for session in state.sessions.values()})),
    )


def _build_burndown(state: RunState) -> "Burndown | None":
    if state.run.mode != "migration":
        return None
    from orchestrator.report.migration.burndown import build_burndown  # a goal's engine does without it

    return build_burndown(state)


def _build_task(state: RunState, task: TaskState, accounts: Accounts) -> PlannedTask:
    spec = task.spec
    usage = state.spend.by_task.get(spec.id, Usage())
    return PlannedTask(
        **dict(spec),
        status=task.status,
        reason=task.reason,
        cause=task.cause,
        attempts=tuple(PlannedAttempt(**dict(attempt)) for attempt in task.attempts),
        verdicts=tuple(PlannedVerdict(attempt=given.number, **dict(given.verdict)) for given in task.verdicts),
        calls=usage.calls,
        tokens=usage.tokens,
        budget=build_account_usage(accounts.get_task_account(spec.id)),
    )

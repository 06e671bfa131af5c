"""Where a run stands, as one object: what `status --json` prints, and what the text for a person is made of."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.event.work import VerdictGiven
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.report.cost.budgets import build_account_usage, build_accounts, build_budgets
from orchestrator.report.migration.burndown import build_burndown
from orchestrator.report.run.result import build_run_result

STATUS_PROJECTION = "status"
"""The name under which the journal keeps this projection."""
SCHEMA = "orchestrate.status/1"


def render_status_json(state: RunState, journal: Path) -> str:
    """The object as JSON."""
    return json.dumps(build_status(state, journal), ensure_ascii=False)


def build_status(state: RunState, journal: Path) -> dict[str, Any]:
    """The object. `seq` is the last event it knows; `is_live` is for the reader to fill in.

    The `budget` of a task holds what it and all below it spent and may spend. A migration has its `burndown`.
    """
    accounts = build_accounts(state)
    return {
        **build_run_result(state, journal),
        "schema": SCHEMA,
        "is_live": None,
        "seq": state.seq,
        "budget": build_budgets(state),
        "plan": [_task(state, task, accounts) for task in state.tasks.values()],
        "file_status": dict(Counter(file.status.value for file in state.files.values())),
        "steps": state.step_seconds,
        "trials": len(state.trials),
        "landings": [{"commit": landing.new, "units": list(landing.units)} for landing in state.landings],
        **({"burndown": build_burndown(state).as_object()} if state.run.mode == "migration" else {}),
        "models": sorted({session.model for session in state.sessions.values()}),
    }


def _task(state: RunState, task: TaskState, accounts: Accounts) -> dict[str, Any]:
    usage = state.spent_by_task.get(task.spec.id)
    return {
        "id": task.spec.id,
        "parent": task.spec.parent,
        "depth": task.spec.depth,
        "kind": task.spec.kind,
        "title": task.spec.title,
        "status": task.status.value,
        "reason": task.reason,
        "cause": task.cause.value if task.cause else None,
        "depends_on": list(task.spec.depends_on),
        "attempts": [
            {"number": attempt.number, "mode": attempt.mode, "model": attempt.model} for attempt in task.attempts
        ],
        "verdicts": [_verdict(given) for given in task.verdicts],
        "calls": usage.calls if usage else 0,
        "tokens": usage.tokens if usage else 0,
        "budget": build_account_usage(accounts.get_task_account(task.spec.id)),
    }


def _verdict(given: VerdictGiven) -> dict[str, Any]:
    verdict = given.verdict
    return {
        "attempt": given.number,
        "kind": verdict.kind.value,
        "cause": verdict.cause.value if verdict.cause else None,
    }

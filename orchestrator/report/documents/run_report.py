"""The report of a run, as one object from which HTML and Markdown are made: what came of it, why, at what price."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from orchestrator.domain.chat import Role
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.run.state import RunState, TaskState, build_unit_id
from orchestrator.report.cost.breakdown import CostBreakdown, RefusedPlanLog, build_cost_breakdown
from orchestrator.report.cost.rendering import build_cost_report
from orchestrator.report.documents.run_timeline import RunTimeline, WorkInterval
from orchestrator.report.migration.full_report import build_migration_report
from orchestrator.report.rows.queue_rows import describe_ejection
from orchestrator.report.run.contract import iterate_contract_receipts
from orchestrator.report.run.next_step import suggest_next_step
from orchestrator.report.run.result import build_run_result
from orchestrator.report.task.attempt_fates import get_attempt_fates
from orchestrator.report.task.receipt import CheckLog, ReadBlob, build_rerun_command, find_difference

SCHEMA = "orchestrate.run-report/1"
_SPEAKERS: tuple[Role, ...] = ("planner", "worker", "judge", "arbiter")
_TESTS = 12
ReadEvents = Callable[[Sequence[str]], Iterable[RecordedEvent]]
"""Gives the events of these kinds, in order."""


def collect_run_report(state: RunState, journal: Path, of_kinds: ReadEvents, read: ReadBlob) -> dict[str, Any]:
    """The whole report as data, of a run and of the events that `state` was folded from."""
    refused, log, checks = RefusedPlanLog(), RunTimeline(), CheckLog()
    for watcher in (refused, log, checks):
        watcher.record_events(of_kinds(watcher.KINDS))
    return build_run_report(state, journal, build_cost_breakdown(state, refused), log, checks, read)


def build_run_report(
    state: RunState, journal: Path, cost: CostBreakdown, log: RunTimeline, checks: CheckLog, read: ReadBlob
) -> dict[str, Any]:
    """The whole report as data.

    Args:
        state: the run.
        journal: where its journal lies.
        cost: what it cost.
        log: has watched the events that `state` was folded from.
        checks: the same.
        read: gives blobs.
    """
    tasks = [state.tasks[TaskId(entry.name)] for entry in cost.tasks]  # in the order of the tree
    sessions = _by_task(state)
    return {
        **build_run_result(state, journal),
        "schema": SCHEMA,
        "next": suggest_next_step(state),
        "repository": Path(state.run.repository).name,
        "target": state.run.target,
        "started_at": state.run.started_at.isoformat(),
        "last_at": state.last_at.isoformat() if state.last_at else None,
        "iterations_judged": [given.model_dump(mode="json") for given in state.iterations],
        "timeline": [_stretch(state, one) for one in log.intervals],
        "tasks_by_tree": [_task(state, task, sessions, log, checks, read) for task in tasks],
        "contract_receipts": [_receipt(state, state.receipts[key], checks, read) for key in _contract(state)],
        "cost": build_cost_report(state, cost),
        "migration": build_migration_report(state).as_object() if state.run.mode == "migration" else None,
        "reproduce": list(list_reproduction_commands(state)),
        "versions": list(log.versions),
        "settings": state.run.settings,
        "settings_changed": list(state.overrides),
    }


def _contract(state: RunState) -> Sequence[str]:
    return list(dict.fromkeys(iterate_contract_receipts(state)))


def _stretch(state: RunState, one: WorkInterval) -> dict[str, Any]:
    """Seconds count from the run's start."""
    begun = state.run.started_at
    return {
        "task": one.task,
        "name": one.name,
        "is_planning": one.is_planning,
        "begin_s": round((one.begin - begun).total_seconds(), 1),
        "end_s": round((one.end - begun).total_seconds(), 1) if one.end else None,
    }


def _by_task(state: RunState) -> dict[tuple[TaskId | None, int], list[SessionId]]:
    found: dict[tuple[TaskId | None, int], list[SessionId]] = {}
    for session in sorted(state.sessions.values(), key=lambda one: _SPEAKERS.index(one.role)):
        found.setdefault((session.task, session.attempt), []).append(session.session)
    return found


def _task(
    state: RunState,
    task: TaskState,
    sessions: dict[tuple[TaskId | None, int], list[SessionId]],
    log: RunTimeline,
    checks: CheckLog,
    read: ReadBlob,
) -> dict[str, Any]:
    spec, spent = task.spec, state.spent_by_node.get(task.spec.id)
    became = get_attempt_fates(task)
    numbers = [attempt.number for attempt in task.attempts] or [0]
    return {
        "id": spec.id,
        "depth": spec.depth,
        "kind": spec.kind,
        "title": spec.title,
        "outcome": spec.outcome,
        "acceptance": list(spec.acceptance),
        "depends_on": list(spec.depends_on),
        "status": task.status.value,
        "cause": task.cause.value if task.cause else None,
        "reason": task.reason,
        "price": spent.cost_text if spent else "$0.00",
        "tokens": spent.tokens if spent else 0,
        "attempts": [_attempt(task, number, became.get(number)) for number in numbers if number],
        "receipts": [_receipt(state, state.receipts[key], checks, read) for key in _keys(task)],
        "said": [
            {
                "session": session,
                "model": state.sessions[session].model,
                "lines": list(log.excerpts.get(session, ())),
                "left_out": log.left_out.get(session, 0),
            }
            for number in dict.fromkeys((0, *numbers))
            for session in sessions.get((spec.id, number), ())
            if session in log.excerpts
        ],
    }


def _keys(task: TaskState) -> list[str]:
    verdicts = (key for given in task.verdicts for key in given.verdict.receipts)
    ejections = (key for ejection in task.ejections for key in ejection.receipts)
    return list(dict.fromkeys((*verdicts, *ejections)))


def _attempt(task: TaskState, number: int, fate: str | None) -> dict[str, Any]:
    attempt = next(one for one in task.attempts if one.number == number)
    end = next((one for one in task.ends if one.number == number), None)
    candidate = next((one for one in task.candidates if one.number == number), None)
    ejections = []
    for one in task.ejections:
        if one.unit == build_unit_id(task.spec.id, number):
            ejections.append(one)
    return {
        "number": number,
        "mode": attempt.mode,
        "model": attempt.model,
        "note": attempt.note,
        "fate": fate,
        "exit": end.exit.value if end else None,
        "summary": (end.handoff.summary if end.handoff else end.detail) if end else "",
        "candidate": candidate.model_dump(
            mode="json", include={"commit", "paths", "added", "removed", "dropped", "flagged"}
        )
        if candidate
        else None,
        "ejected": [describe_ejection(one) for one in ejections],
        "conflicts": [path for one in ejections for path in one.conflict],
        "verdicts": [given.verdict.model_dump(mode="json") for given in task.verdicts if given.number == number],
    }


def _receipt(state: RunState, receipt: Receipt, checks: CheckLog, read: ReadBlob) -> dict[str, Any]:
    difference = find_difference(state, receipt, checks, read)
    return {
        "check": receipt.check,
        "command": receipt.command,
        "purpose": checks.purposes.get(receipt.key, ""),
        "status": receipt.status.value,
        "exit_code": receipt.exit_code,
        "seconds": round(receipt.seconds, 1),
        "tree": receipt.tree,
        "counts": receipt.counts.model_dump() if receipt.tests is not None else None,
        "new_failures": list(difference.new_failures[:_TESTS]) if difference else [],
        "missing": list(difference.missing_tests[:_TESTS]) if difference else [],
        "more": max(0, len(difference.new_failures) - _TESTS) + max(0, len(difference.missing_tests) - _TESTS)
        if difference
        else 0,
        "again": build_rerun_command(receipt),
    }


def list_reproduction_commands(state: RunState) -> Iterator[str]:
    """Lines for a shell in the repository: look at what landed, test it again, do the run over from its journal."""
    run = state.run
    if state.head:
        yield f"git diff {run.base}..{state.head}"
        yield f"git checkout --detach {state.head}"
    yield from dict.fromkeys(receipt.command for receipt in state.get_baseline_receipts().values())
    yield f"orchestrate replay {shlex.quote(run.run)} --offline"

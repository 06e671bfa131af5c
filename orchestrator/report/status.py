"""What `status` prints: where a run stands, in one object or in a few lines."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator.domain.plain import strip_controls
from orchestrator.domain.state import RunState, TaskState
from orchestrator.report.result import run_result

SCHEMA = "orchestrate.status/1"


def status_object(state: RunState, journal: Path, is_live: bool) -> dict[str, Any]:
    """Everything `status --json` says; `is_live` tells whether a process works on the run now."""
    return {
        **run_result(state, journal),
        "schema": SCHEMA,
        "is_live": is_live,
        "seq": state.seq,
        "plan": [_task(state, task) for task in state.tasks.values()],
        "file_status": dict(Counter(file.status.value for file in state.files.values())),
        "steps": state.steps,
        "trials": len(state.trials),
        "landings": [{"commit": landing.new, "units": list(landing.units)} for landing in state.landings],
        "models": sorted({session.model for session in state.sessions.values()}),
    }


def _task(state: RunState, task: TaskState) -> dict[str, Any]:
    usage = state.spent_by_task.get(task.spec.id)
    return {
        "id": task.spec.id,
        "parent": task.spec.parent,
        "kind": task.spec.kind,
        "title": task.spec.title,
        "status": task.status.value,
        "reason": task.reason,
        "depends_on": list(task.spec.depends_on),
        "attempts": [
            {"number": attempt.number, "mode": attempt.mode, "model": attempt.model} for attempt in task.attempts
        ],
        "verdicts": [{"attempt": given.number, "kind": given.verdict.kind.value} for given in task.verdicts],
        "calls": usage.calls if usage else 0,
        "tokens": usage.tokens if usage else 0,
    }


def status_text(state: RunState, journal: Path, is_live: bool) -> Iterator[str]:
    """The same for a person."""
    result = run_result(state, journal)
    life = "live" if is_live else "no process"
    yield f"{result['run']}  {result['outcome']} ({life})  {strip_controls(state.run.goal.splitlines()[0])}"
    if result["reason"]:
        yield f"  {strip_controls(result['reason'])}"
    yield f"  branch {result['pr_branch']}  base {state.run.base[:12]}  head {(state.head or 'nothing landed')[:14]}"
    yield f"  {state.test_runs} test runs  {state.spent.calls} model calls  {state.spent.price}  {state.wall_s:.0f} s"
    for task in state.tasks.values():
        yield _task_line(task)
    counts = Counter(file.status.value for file in state.files.values())
    if counts:
        yield "  files: " + ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    for rejected in result["files"]["rejected"]:
        yield f"  ✗ {strip_controls(rejected['path'])}: {strip_controls(rejected['reason'])}"


def _task_line(task: TaskState) -> str:
    indent = "  " * (task.spec.depth + 1)
    tries = f" ×{len(task.attempts)}" if len(task.attempts) > 1 else ""
    reason = f"  {strip_controls(task.reason)}" if task.reason else ""
    return f"{indent}{task.status:9} {task.spec.id}{tries}  {strip_controls(task.spec.title)}{reason}"

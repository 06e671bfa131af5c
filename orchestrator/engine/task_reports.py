"""Build what roles are told of tasks and receipts: planners, judges, and workers who build on a task."""

from orchestrator.domain.ids import parse_check_name
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.ports.roles import CheckSummary, TaskReport


def build_task_report(state: TaskState) -> TaskReport:
    """Return what planners, judges and workers who build on it are told of a task."""
    return TaskReport(
        task=state.spec,
        status=state.status,
        reason=state.reason,
        cause=state.cause,
        handoff=state.handoff,
        paths=state.candidate.paths if state.candidate else (),
        kept=state.candidate.ref if state.candidate and state.status != TaskStatus.MERGED else "",
        attempts=len(state.attempts),
    )


def summarize_receipt(receipt: Receipt) -> CheckSummary:
    """Return a receipt in words; one of selected tests goes by the name of the check that it narrows."""
    result = f"{receipt.outcome_text} ({receipt.seconds:.1f} s)"
    name = parse_check_name(receipt.narrows or receipt.check)
    return CheckSummary(id=name, check=receipt.command, result=result, receipt=receipt.key)

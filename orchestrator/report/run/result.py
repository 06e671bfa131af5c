"""The one object that `run` and `migrate run` print with --json."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from orchestrator.domain.event.landing import TrialJudged
from orchestrator.domain.judging.check import Receipt, TestCounts
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.engine.pull_request.description import get_head_receipts
from orchestrator.report.run.contract import build_contract
from orchestrator.report.run.forge_checks import build_forge_checks, build_merge_result

SCHEMA = "orchestrate.result/1"
_CHANGED = {FileStatus.MERGED, FileStatus.REJECTED, FileStatus.NEEDS_HUMAN, FileStatus.REVERTED}
_PR = {"group", "branch", "head", "forge", "ref", "url"}
_NOT_LANDED = {TaskStatus.REJECTED, TaskStatus.BLOCKED, TaskStatus.SPLIT}


def build_run_result(state: RunState, journal: Path) -> dict[str, Any]:
    """The outcome of a run, or how far it has come.

    `exit` is the exit code; `gate.new_failures` and `gate.missing_tests` are of what landed, so both are empty unless
    something is badly wrong; `gate.rejected_union` is what everything together would have broken.
    `causes` counts why leaf tasks ended without landing (`domain.task.EndCause`), only those that occur.
    `flaky` lists tests that passed and failed on one tree, with the number of trees where that was seen, most first.
    `contract` lists the criteria with what the newest verdict says of each.
    `pr` is the pull request that was opened last; `prs` are all of a migration that has one for each group.
    `checks` is what the forge's checks said last of `pr`, `merged` where it was merged; None if nobody waited, or not.
    `attempted` lists what agents tried beyond their walls, by their words or by what refused it.
    """
    run = state.run
    return {
        "schema": SCHEMA,
        "run": run.run,
        "mode": run.mode,
        "unsafe": state.is_unsafe,
        "goal": run.goal,
        "outcome": _outcome(state),
        "reason": _reason(state),
        "exit": _exit(state),
        "base": run.base,
        "pr_branch": run.branch,
        "head": state.head,
        "iterations": state.iteration,
        "contract": build_contract(state),
        "tasks": _tasks(state),
        "causes": _causes(state),
        "files": _files(state),
        "gate": _gate(state),
        "flaky": [{"test": test, "seen": seen} for test, seen in state.list_flaky_tests()],
        "test_runs": state.test_runs,
        "spent": _spent(state),
        **_pull_requests(state),
        "attempted": [one.model_dump(mode="json") for one in state.unapproved_violations],
        "notices": [notice.text for notice in state.notices],
        "journal": str(journal),
    }


def _pull_requests(state: RunState) -> dict[str, Any]:
    return {
        "pr": state.pr.model_dump(include={"forge", "ref", "url"}) if state.pr else None,
        "checks": build_forge_checks(state),
        "merged": build_merge_result(state),
        "prs": [pr.model_dump(include=_PR) for pr in state.prs.values()],
    }


def _outcome(state: RunState) -> str:
    if state.ended:
        return state.ended.outcome
    if state.paused:
        return "paused"
    return "running"


def _reason(state: RunState) -> str:
    end = state.ended or state.paused
    if end:
        return end.reason
    return ""


def _exit(state: RunState) -> int | None:
    end = state.ended or state.paused
    if end:
        return end.exit
    return None


def _tasks(state: RunState) -> dict[str, int]:
    """Leaf tasks by status; every status is named, so that a reader need not guess which exist."""
    counts = Counter(task.status for task in state.tasks.values() if task.spec.kind == "leaf")
    return {status.value: counts[status] for status in TaskStatus}


def _causes(state: RunState) -> dict[str, int]:
    causes = Counter(task.cause for task in state.tasks.values() if task.spec.kind == "leaf" and task.cause)
    return {cause.value: causes[cause] for cause in EndCause if cause in causes}


def _files(state: RunState) -> dict[str, Any]:
    if state.run.mode == "migration":
        files = state.files.values()
        return {
            "in_scope": len(files),
            "changed": sum(f.status in _CHANGED for f in files),
            "landed": [f.path for f in files if f.status == FileStatus.MERGED],
            "rejected": _with_reasons(files, FileStatus.REJECTED),
            "unchanged": _with_reasons(files, FileStatus.UNCHANGED),
            "needs_human": _with_reasons(files, FileStatus.NEEDS_HUMAN),
            "skipped": _with_reasons(files, FileStatus.SKIPPED),
            "reverted": _with_reasons(files, FileStatus.REVERTED),
        }
    merged = [task for task in state.tasks.values() if task.status == TaskStatus.MERGED]
    landed = {path for task in merged if task.candidate for path in task.candidate.paths}
    rejected = [
        {"path": path, "reason": f"{task.spec.id}: {task.reason}"}
        for task in state.tasks.values()
        if task.status in _NOT_LANDED and task.candidate
        for path in task.candidate.paths
        if path not in landed
    ]
    changed = landed | {file["path"] for file in rejected}
    return {"changed": len(changed), "landed": sorted(landed), "rejected": rejected}


def _with_reasons(files: Iterable[FileRecord], status: FileStatus) -> list[dict[str, str]]:
    return [{"path": f.path, "reason": f.reason, "signature": f.signature} for f in files if f.status == status]


def _gate(state: RunState) -> dict[str, Any]:
    baseline = list(state.get_baseline_receipts().values())
    last = find_head_trial(state)
    red = next((trial for trial in state.trials if not trial.difference.is_green), None)
    return {
        "command": " && ".join(receipt.command for receipt in baseline),
        "baseline": _counts(baseline),
        "head": _counts(get_head_receipts(state)),
        "new_failures": list(last.difference.new_failures) if last else [],
        "missing_tests": list(last.difference.missing_tests) if last else [],
        "rejected_union": None
        if red is None
        else {
            "units": len(red.units),
            "new_failures": len(red.difference.new_failures),
            "missing_tests": len(red.difference.missing_tests),
        },
    }


def find_head_trial(state: RunState) -> TrialJudged | None:
    """The newest judgement of the whole gate on the tree that landed last; None if nothing landed."""
    tree = state.landings[-1].tree if state.landings else ""
    return next((one for one in reversed(state.trials) if one.tree == tree and not one.symptoms), None)


def _counts(receipts: Iterable[Receipt]) -> dict[str, int] | None:
    """All tests together; None where checks tell only their exit codes, which is not the same as no tests."""
    counted = [receipt.counts for receipt in receipts if receipt.tests is not None]
    if counted:
        return sum(counted, TestCounts()).model_dump()
    return None


def _spent(state: RunState) -> dict[str, Any]:
    spent = state.spent
    return {
        "usd": float(spent.cost_usd) if not spent.unpriced_calls else None,
        "usd_known": float(spent.cost_usd),
        "unpriced_calls": spent.unpriced_calls,
        "possibly_billed_calls": state.possibly_billed_calls,
        "at_risk_usd": float(state.at_risk.cost_usd) if not state.at_risk.unpriced_calls else None,
        "at_risk_tokens": state.at_risk.tokens,
        "tokens": spent.tokens,
        "calls": spent.calls,
        "wall_s": round(state.wall_s, 1),
    }


def build_failure(message: str, exit_code: int) -> dict[str, Any]:
    """What --json prints when a run could not be started."""
    return {"schema": "orchestrate.error/1", "outcome": "not-started", "error": message, "exit": exit_code}

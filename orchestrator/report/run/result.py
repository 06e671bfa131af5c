"""Build what `run`, `migrate run` and `status` print with --json."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event.landing import TrialJudged
from orchestrator.domain.judging.check import Receipt, TestCounts
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.run.gate_runs import measure_runs_per_landed_task
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.domain.run_labels import get_run_labels
from orchestrator.domain.run_outcome import ShownOutcome
from orchestrator.engine.pull_request.description import get_head_receipts
from orchestrator.report.cost.budgets import (
    build_account_usage,
    build_accounts,
    build_budgets,
    build_usage_amount,
    may_spend_without_limit,
)
from orchestrator.report.hosts.summary import find_hosts_summary
from orchestrator.report.migration.burndown_model import Burndown
from orchestrator.report.run import model
from orchestrator.report.run.condition import describe_condition
from orchestrator.report.run.contract import build_contract
from orchestrator.report.run.forge_checks import build_forge_checks, build_merge_result, describe_merging
from orchestrator.report.run.left_lines import build_left_iterations
from orchestrator.report.run.next_step import suggest_next_step
from orchestrator.report.run.outcome_sentence import describe_run_outcome

_CHANGED = {FileStatus.MERGED, FileStatus.REJECTED, FileStatus.NEEDS_HUMAN, FileStatus.REVERTED}
_NOT_LANDED = {TaskStatus.REJECTED, TaskStatus.BLOCKED, TaskStatus.SPLIT}


def build_run_result(state: RunState, journal: Path, is_at_work: bool | None = None) -> model.RunResult:
    """Return the outcome of a run, or how far it has come; for `is_at_work` see `find_condition`."""
    run, end = state.run, state.ended or state.paused
    return model.RunResult(
        **_build_identity(state),
        unsafe=state.is_unsafe,
        outcome=_get_outcome(state),
        sentence=describe_run_outcome(state, is_at_work),
        next=suggest_next_step(state, is_at_work),
        condition=describe_condition(state, is_at_work),
        reason=end.reason if end else "",
        exit=end.exit if end else None,
        base=run.base,
        pr_branch=run.branch,
        head=state.head,
        iterations=state.goal.iteration,
        contract=build_contract(state),
        tasks=_count_leaf_tasks(state),
        causes=_count_end_causes(state),
        files=_build_migration_files(state) if run.mode == "migration" else _build_goal_files(state),
        gate=_build_gate(state),
        flaky=tuple(model.FlakyTest(test=test, seen=seen) for test, seen in state.list_flaky_tests()),
        clashing=_build_clashing_files(state),
        clashes_ahead=_build_clashes_ahead(state),
        test_runs=state.test_runs,
        receipts_taken_over=state.reused_receipts,
        gate_runs=_build_gate_runs(state),
        spent=_build_spending(state),
        pr=model.PullRequestLink(**dict(state.pr)) if state.pr else None,
        checks=build_forge_checks(state),
        merged=build_merge_result(state),
        merge_by=describe_merging(state),
        prs=tuple(model.GroupPullRequest(**dict(pr)) for pr in state.migration.prs.values()),
        hosts=find_hosts_summary(state, is_at_work),
        left_behind=build_left_iterations(state),
        attempted=tuple(state.unapproved_violations),
        notices=tuple(notice.text for notice in state.notices),
        journal=str(journal),
    )


def _build_identity(state: RunState) -> Mapping[str, object]:
    """Return what a run is called, and what it is for."""
    run = state.run
    return {"run": run.run, "mode": run.mode, "name": run.name, "labels": get_run_labels(state), "goal": run.goal}


def _build_gate_runs(state: RunState) -> model.GateRunRates | None:
    """Return how many runs each landed task took; nothing for a migration, or before one landed."""
    rates = measure_runs_per_landed_task(state)
    if state.run.mode != "goal" or rates is None:
        return None
    return model.GateRunRates(whole=round(rates[0], 2), partial=round(rates[1], 2))


def _build_clashing_files(state: RunState) -> tuple[model.ClashingFile, ...]:
    files = []
    for path, clashes in state.list_clashing_files():
        files.append(model.ClashingFile(path=path, clashes=clashes))
    return tuple(files)


def _build_clashes_ahead(state: RunState) -> tuple[model.ClashAhead, ...]:
    clashes = []
    for clash in state.list_clashes_ahead():
        other = next(iter(clash.partners), None)
        clashes.append(model.ClashAhead(unit=clash.unit, other=other, paths=clash.paths))
    return tuple(clashes)


def _get_outcome(state: RunState) -> ShownOutcome:
    if state.ended:
        return state.ended.outcome
    if state.paused:
        return "paused"
    return "running"


def _count_leaf_tasks(state: RunState) -> dict[TaskStatus, int]:
    """Return how many leaf tasks have each status, with 0 for those that none has."""
    counts = Counter(task.status for task in state.tasks.values() if task.is_counted)
    return {status: counts[status] for status in TaskStatus}


def _count_end_causes(state: RunState) -> dict[EndCause, int]:
    causes = Counter(task.cause for task in state.tasks.values() if task.is_counted)
    return {cause: causes[cause] for cause in EndCause if cause in causes}


def _build_migration_files(state: RunState) -> model.RunFiles:
    files = state.migration.files.values()
    return model.RunFiles(
        in_scope=len(files),
        changed=sum(file.status in _CHANGED for file in files),
        landed=tuple(file.path for file in files if file.status == FileStatus.MERGED),
        rejected=_list_files_with_reasons(files, FileStatus.REJECTED),
        unchanged=_list_files_with_reasons(files, FileStatus.UNCHANGED),
        needs_human=_list_files_with_reasons(files, FileStatus.NEEDS_HUMAN),
        skipped=_list_files_with_reasons(files, FileStatus.SKIPPED),
        reverted=_list_files_with_reasons(files, FileStatus.REVERTED),
    )


def _list_files_with_reasons(files: Iterable[FileRecord], status: FileStatus) -> tuple[model.LeftFile, ...]:
    return tuple(model.LeftFile(**dict(file)) for file in files if file.status == status)


def _build_goal_files(state: RunState) -> model.RunFiles:
    landed: set[str] = set()
    for task in state.tasks.values():
        if task.status == TaskStatus.MERGED and task.candidate:
            landed.update(task.candidate.paths)
    rejected = []
    for task in state.tasks.values():
        if task.status in _NOT_LANDED and task.candidate:
            reason = f"{task.spec.id}: {task.reason}"
            rejected += [
                model.LeftFile(path=path, reason=reason) for path in task.candidate.paths if path not in landed
            ]
    changed = landed.union(file.path for file in rejected)
    return model.RunFiles(changed=len(changed), landed=tuple(sorted(landed)), rejected=tuple(rejected))


def _build_gate(state: RunState) -> model.GateComparison:
    baseline = list(state.get_baseline_receipts().values())
    last = find_head_trial(state)
    return model.GateComparison(
        command=" && ".join(receipt.command for receipt in baseline),
        baseline=_sum_test_counts(baseline),
        head=_sum_test_counts(get_head_receipts(state)),
        new_failures=last.difference.new_failures if last else (),
        missing_tests=last.difference.missing_tests if last else (),
        rejected_union=_find_rejected_union(state),
    )


def _find_rejected_union(state: RunState) -> model.RejectedUnion | None:
    for trial in state.trials:
        lost = trial.difference
        if not lost.is_green:
            return model.RejectedUnion(
                units=len(trial.units), new_failures=len(lost.new_failures), missing_tests=len(lost.missing_tests)
            )
    return None


def find_head_trial(state: RunState) -> TrialJudged | None:
    """Return the newest judgement of the whole gate on the tree that landed last; None if nothing landed."""
    tree = state.landings[-1].tree if state.landings else ""
    return next((one for one in reversed(state.trials) if one.tree == tree and not one.symptoms), None)


def _sum_test_counts(receipts: Iterable[Receipt]) -> TestCounts | None:
    """Return the counts of all tests together; None where checks tell only exit codes, which is not the same as 0."""
    counted = [receipt.counts for receipt in receipts if receipt.tests is not None]
    if counted:
        return sum(counted, TestCounts())
    return None


def _build_spending(state: RunState) -> model.RunSpending:
    at_risk = state.spend.at_risk
    return model.RunSpending(
        **dict(build_usage_amount(state.spend.total)),
        possibly_billed_calls=state.spend.possibly_billed_calls,
        at_risk_usd=at_risk.usd,
        at_risk_tokens=at_risk.tokens,
        wall_s=round(state.wall_s, 1),
    )


def render_status_json(state: RunState, journal: Path) -> str:
    """Return the status as JSON, for the journal's projection."""
    return json.dumps(build_status(state, journal).as_object(), ensure_ascii=False)


def build_status(
    state: RunState, journal: Path, is_at_work: bool | None = None, *, has_plan: bool = True
) -> model.RunStatus:
    """Return where a run stands; its reader fills in `is_live` and `disk`. For `is_at_work` see `find_condition`."""
    accounts, tasks = build_accounts(state), state.tasks.values() if has_plan else ()
    return model.RunStatus(
        **build_run_result(state, journal, is_at_work).copy_fields(),
        seq=state.seq,
        budget=build_budgets(state),
        unlimited=may_spend_without_limit(state),
        plan=tuple(build_planned_task(state, task, accounts) for task in tasks),
        file_status=Counter(file.status for file in state.migration.files.values()),
        steps=state.migration.step_seconds,
        trials=len(state.trials),
        landings=tuple(model.LandedUnits(commit=landing.new, units=landing.units) for landing in state.landings),
        burndown=_build_burndown(state),
        models=tuple(sorted({session.model for session in state.sessions.values()})),
        questions=tuple(str(question.id) for question in state.pending_approvals),
        workers=_build_workers(state),
    )


def _build_workers(state: RunState) -> model.WorkersAtOnce | None:
    """Return how many workers may be at work; None for a migration, whose steps have widths of their own."""
    if state.run.mode != "goal":
        return None
    allowed, width = state.allowed_workers, state.width
    now = width.get_workers(allowed)
    return model.WorkersAtOnce(allowed=allowed, now=now, cause=width.cause, subject=width.subject)


def _build_burndown(state: RunState) -> Burndown | None:
    if state.run.mode != "migration":
        return None
    from orchestrator.report.migration.burndown import build_burndown  # a goal's engine does without it

    return build_burndown(state)


def build_planned_task(state: RunState, task: TaskState, accounts: Accounts) -> model.PlannedTask:
    """Return a task with what became of it."""
    spec = task.spec
    usage = state.spend.by_task.get(spec.id, Usage())
    return model.PlannedTask(
        **dict(spec),
        status=task.status,
        reason=task.reason,
        cause=task.cause,
        attempts=tuple(model.PlannedAttempt(**dict(attempt)) for attempt in task.attempts),
        verdicts=tuple(model.PlannedVerdict(attempt=given.number, **dict(given.verdict)) for given in task.verdicts),
        calls=usage.calls,
        tokens=usage.tokens,
        budget=build_account_usage(accounts.get_task_account(spec.id)),
    )

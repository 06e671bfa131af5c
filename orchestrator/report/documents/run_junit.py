"""Render a run as JUnit XML for CI services: its outcome, contract, tasks and files as tests, attempts as reruns."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from orchestrator.domain.judging.forge_check import ForgeCheck
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.text.listing import add_lead
from orchestrator.report.documents.junit_xml import CaseResult, FailedTry, JunitCase, JunitSuite, render_junit_xml
from orchestrator.report.documents.run_report_model import ReportedAttempt, ReportedTask, RunReport
from orchestrator.report.migration.full_report import ReportedFile
from orchestrator.report.run.model import CriterionResult

MOST_FILES = 2_000
"""A migration with more files has a test for each shard instead."""
_TASK_RESULTS: Mapping[TaskStatus, CaseResult] = {
    TaskStatus.MERGED: "passed",
    TaskStatus.DONE: "passed",
    TaskStatus.REJECTED: "failure",
    TaskStatus.BLOCKED: "failure",
    TaskStatus.UNFINISHED: "failure",
}
"""Tasks that were split, cancelled, left behind or not finished count as skipped."""
_WORST_FIRST: Sequence[CaseResult] = ("failure", "skipped", "passed")


def render_run_junit(report: RunReport) -> str:
    """Return the document, made of what `collect_run_report` gives.

    Suites: `run` with one test, which passes only if the run did; `contract` with a test for each criterion; `checks`
    of the forge; `tasks` with each task of the tree; `files` or `shards` of a migration. Earlier attempts of a task
    that landed are `flakyFailure`s, those of one that failed `rerunFailure`s or `rerunError`s, as Maven's Surefire
    writes them.
    """
    suites = [
        JunitSuite("run", (_build_run_case(report),)),
        JunitSuite("contract", tuple(map(_build_criterion_case, report.contract))),
        JunitSuite("checks", tuple(map(_build_check_case, report.forge_checks))),
        JunitSuite("tasks", tuple(_iterate_task_cases(report))),
    ]
    if report.migration is not None:
        suites.append(_build_migration_suite(report.migration.files))
    properties = {name: getattr(report, name) or "" for name in ("run", "mode", "base", "head", "pr_branch", "outcome")}
    shown = [suite for suite in suites if suite.cases]
    return render_junit_xml(report.repository, report.started_at, properties, shown)


def _join_words(*words: str | None) -> str:
    return ": ".join(filter(None, words))


def _build_run_case(report: RunReport) -> JunitCase:
    """Return the test of the run. Running is skipped, paused an error: neither may pass for green."""
    results: Mapping[str, CaseResult] = {"running": "skipped", "paused": "error"}
    outcome = report.outcome
    result: CaseResult = "passed" if report.exit == 0 else "failure"
    return JunitCase(
        classname="run",
        name=report.goal,
        seconds=report.spent.wall_s,
        result=results.get(outcome, result),
        kind=outcome,
        message=_join_words(outcome, report.reason),
        out="\n".join(filter(None, (*report.notices, add_lead("next: ", report.next)))),
    )


def _build_criterion_case(criterion: CriterionResult) -> JunitCase:
    results: Mapping[bool | None, CaseResult] = {True: "passed", False: "failure", None: "skipped"}
    verdict = "no verdict yet" if criterion.met is None else "not met"
    return JunitCase(
        classname="contract",
        name=f"{criterion.id}: {criterion.text}",
        seconds=0.0,
        result=results[criterion.met],
        kind="criterion",
        message=criterion.evidence or verdict,
        out="\n".join(filter(None, (criterion.evidence, add_lead("$ ", criterion.command)))),
    )


def _build_check_case(check: ForgeCheck) -> JunitCase:
    results: Mapping[str, CaseResult] = {"passed": "passed", "failed": "failure", "pending": "skipped"}
    message = check.summary or check.state
    return JunitCase("check", check.name, 0.0, results[check.state], "check", message, out=check.url)


def _iterate_task_cases(report: RunReport) -> Iterator[JunitCase]:
    seconds: defaultdict[str, float] = defaultdict(float)
    for interval in report.timeline:
        if interval.end_s is not None:
            seconds[interval.task] += interval.end_s - interval.begin_s
    for task in report.tasks_by_tree:
        yield _build_task_case(task, seconds[task.id])


def _build_task_case(task: ReportedTask, seconds: float) -> JunitCase:
    result, cause = _TASK_RESULTS.get(task.status, "skipped"), task.cause
    if result == "failure" and cause and cause.is_infrastructure:
        result = "error"
    notes, reasons = [], []
    for attempt in task.attempts:
        notes += _list_notes(attempt)
        reasons = attempt.list_reasons()
    return JunitCase(
        classname=f"task.{task.kind}",
        name=f"{task.id}: {task.title}",
        seconds=seconds,
        result=result,
        kind=cause or task.status,
        message=_join_words(cause or task.status, task.reason),
        detail="\n".join(reasons),
        out="\n".join(notes),
        earlier=tuple(map(_build_failed_try, task.attempts[:-1])),
    )


def _build_failed_try(attempt: ReportedAttempt) -> FailedTry:
    kind: str = attempt.fate
    for verdict in attempt.verdicts:
        kind = verdict.cause or kind
    reasons = attempt.list_reasons()
    return FailedTry(kind, f"attempt {attempt.number}: {next(iter(reasons), attempt.fate)}", "\n".join(reasons))


def _list_notes(attempt: ReportedAttempt) -> list[str]:
    """Return what the judge said of an attempt."""
    lines = [f"attempt {attempt.number} ({attempt.mode}) on {attempt.model}: {attempt.fate}"]
    for verdict in attempt.verdicts:
        lines.append(f"  verdict: {', '.join(filter(None, (verdict.kind, verdict.cause)))}")
        for reason in verdict.reasons:
            lines.append(f"  why: {reason}")
        for flag in verdict.flags:
            lines.append(f"  flagged: {flag}")
        for vote in verdict.votes:
            lines.append(f"  {vote.lens} on {vote.model}: {'; '.join((vote.decision, *vote.reasons))}")
    for why in attempt.ejected:
        lines.append(f"  ejected: {why}")
    return lines


def _build_migration_suite(files: Sequence[ReportedFile]) -> JunitSuite:
    if len(files) <= MOST_FILES:
        return JunitSuite("files", tuple(map(_build_file_case, files)))
    by_shard: dict[str, list[ReportedFile]] = {}
    for file in files:
        by_shard.setdefault(file.shard, []).append(file)
    return JunitSuite("shards", tuple(_build_shard_case(name, its) for name, its in sorted(by_shard.items())))


def _build_file_case(file: ReportedFile) -> JunitCase:
    sites = f"{file.sites} sites, {file.sites_left} left{add_lead('; step ', file.step)}"
    return JunitCase(
        classname=".".join(filter(None, ("file", file.shard))),
        name=file.path,
        seconds=file.seconds,
        result=_get_file_result(file),
        kind=file.signature or file.status,
        message=_join_words(file.status, file.reason),
        out="\n".join((sites, *map("flagged: {}".format, file.flags))),
    )


def _get_file_result(file: ReportedFile) -> CaseResult:
    if file.status == FileStatus.MERGED:
        return "passed"
    if file.status.is_left_over:
        return "failure"
    return "skipped"


def _build_shard_case(name: str, files: Sequence[ReportedFile]) -> JunitCase:
    """Return a test that fails if one of its files did; skipped if none did and one is under way or was left out."""
    lines = []
    for file in files:
        if file.status != FileStatus.MERGED:
            lines.append(_join_words(file.path, file.status, file.reason))
    return JunitCase(
        classname="shard",
        name=name or "(none)",
        seconds=sum(file.seconds for file in files),
        result=min(map(_get_file_result, files), key=_WORST_FIRST.index),
        kind="files",
        message=f"{len(lines)} of {len(files)} files did not land",
        detail="\n".join(lines),
        out=f"{len(files)} files",
    )

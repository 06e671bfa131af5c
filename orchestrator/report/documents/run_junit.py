"""A run as JUnit XML, which CI services read: its outcome, contract, tasks and files as tests, attempts as reruns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.report.documents.junit_xml import CaseResult, FailedTry, JunitCase, JunitSuite, render_junit_xml

MOST_FILES = 2_000
"""A migration with more files has a test for each shard instead."""
_TASKS: Mapping[TaskStatus, CaseResult] = {
    TaskStatus.MERGED: "passed",
    TaskStatus.DONE: "passed",
    TaskStatus.REJECTED: "failure",
    TaskStatus.BLOCKED: "failure",
}
"""What has been split, cancelled or not finished counts as skipped."""
_WORST: Sequence[CaseResult] = ("failure", "skipped", "passed")


def render_run_junit(report: Mapping[str, Any]) -> str:
    """The document, made of what `report.run_report.run_report` gives.

    Suites: `run` with one test, which passes only if the run did; `contract` with a test for each criterion; `checks`
    of the forge; `tasks` with each task of the tree; `files` or `shards` of a migration. Earlier attempts of a task
    that landed are `flakyFailure`s, those of one that failed `rerunFailure`s or `rerunError`s, as Maven's Surefire
    writes them.
    """
    suites = (
        JunitSuite("run", (_run(report),)),
        JunitSuite("contract", tuple(map(_criterion, report["contract"]))),
        JunitSuite("checks", tuple(_checks(report))),
        JunitSuite("tasks", tuple(_tasks(report))),
        *(_migration(report["migration"]) if report["migration"] else ()),
    )
    properties = {}
    for name in ("run", "mode", "base", "head", "pr_branch", "outcome"):
        properties[name] = report[name] or ""
    return render_junit_xml(
        report["repository"], report["started_at"], properties, [one for one in suites if one.cases]
    )


def _run(report: Mapping[str, Any]) -> JunitCase:
    """Running is skipped, paused an error: neither may pass for green."""
    results: Mapping[str, CaseResult] = {"running": "skipped", "paused": "error"}
    outcome = report["outcome"]
    result = results.get(outcome, "passed" if report["exit"] == 0 else "failure")
    if report["reason"]:
        told = f"{outcome}: {report['reason']}"
    else:
        told = outcome
    if report["next"]:
        next_step = f"next: {report['next']}"
    else:
        next_step = ""
    out = "\n".join(filter(None, (*report["notices"], next_step)))
    return JunitCase("run", report["goal"], report["spent"]["wall_s"], result, outcome, told, out=out)


def _criterion(one: Mapping[str, Any]) -> JunitCase:
    results: Mapping[bool | None, CaseResult] = {True: "passed", False: "failure", None: "skipped"}
    told = one["evidence"] or ("no verdict yet" if one["met"] is None else "not met")
    out = "\n".join(filter(None, (one["evidence"], f"$ {one['command']}" if one["command"] else "")))
    return JunitCase("contract", f"{one['id']}: {one['text']}", 0.0, results[one["met"]], "criterion", told, out=out)


def _checks(report: Mapping[str, Any]) -> Iterator[JunitCase]:
    results: Mapping[str, CaseResult] = {"passed": "passed", "failed": "failure", "pending": "skipped"}
    for one in report["checks"]["checks"] if report["checks"] else ():
        told = one["summary"] or one["state"]
        yield JunitCase("check", one["name"], 0.0, results[one["state"]], "check", told, out=one["url"])


def _tasks(report: Mapping[str, Any]) -> Iterator[JunitCase]:
    seconds: dict[str, float] = {}
    for one in report["timeline"]:
        if one["end_s"] is not None:
            seconds[one["task"]] = seconds.get(one["task"], 0.0) + one["end_s"] - one["begin_s"]
    for task in report["tasks_by_tree"]:
        yield _task(task, seconds.get(task["id"], 0.0))


def _task(task: Mapping[str, Any], seconds: float) -> JunitCase:
    result, cause = _TASKS.get(TaskStatus(task["status"]), "skipped"), task["cause"]
    if result == "failure" and cause and EndCause(cause).is_infrastructure:
        result = "error"
    attempts = task["attempts"]
    return JunitCase(
        f"task.{task['kind']}",
        f"{task['id']}: {task['title']}",
        seconds,
        result,
        cause or task["status"],
        ": ".join(filter(None, (cause or task["status"], task["reason"]))),
        detail="\n".join(_why(attempts[-1])) if attempts else "",
        out="\n".join(line for attempt in attempts for line in _note(attempt)),
        earlier=tuple(map(_try, attempts[:-1])),
    )


def _try(attempt: Mapping[str, Any]) -> FailedTry:
    causes = []
    for given in attempt["verdicts"]:
        if given["cause"]:
            causes.append(given["cause"])
    if causes:
        kind = causes[-1]
    else:
        kind = attempt["fate"] or "superseded"
    why = list(_why(attempt))
    return FailedTry(kind, f"attempt {attempt['number']}: {why[0] if why else attempt['fate']}", "\n".join(why))


def _why(attempt: Mapping[str, Any]) -> Iterator[str]:
    """Why an attempt did not land, as far as anything was said of it."""
    for given in attempt["verdicts"]:
        yield from given["reasons"]
    yield from attempt["ejected"]
    if attempt["exit"] not in {None, "finished"} and attempt["summary"]:
        yield f"{attempt['exit']}: {attempt['summary']}"


def _note(attempt: Mapping[str, Any]) -> Iterator[str]:
    """What the judge said of an attempt."""
    yield f"attempt {attempt['number']} ({attempt['mode']}) on {attempt['model']}: {attempt['fate']}"
    for given in attempt["verdicts"]:
        yield f"  verdict: {given['kind']}{', ' + given['cause'] if given['cause'] else ''}"
        for reason in given["reasons"]:
            yield f"  why: {reason}"
        for flag in given["flags"]:
            yield f"  flagged: {flag}"
        for vote in given["votes"]:
            yield f"  {vote['lens']} on {vote['model']}: {'; '.join((vote['decision'], *vote['reasons']))}"
    for why in attempt["ejected"]:
        yield f"  ejected: {why}"


def _migration(report: Mapping[str, Any]) -> Iterator[JunitSuite]:
    files = report["files"]
    if len(files) <= MOST_FILES:
        yield JunitSuite("files", tuple(map(_file, files)))
    else:
        by_shard: dict[str, list[Mapping[str, Any]]] = {}
        for file in files:
            by_shard.setdefault(file["shard"], []).append(file)
        yield JunitSuite("shards", tuple(_shard(name, its) for name, its in sorted(by_shard.items())))


def _file(file: Mapping[str, Any]) -> JunitCase:
    told = ": ".join(filter(None, (file["status"], file["reason"])))
    sites = f"{file['sites']} sites, {file['sites_left']} left" + (f"; step {file['step']}" if file["step"] else "")
    return JunitCase(
        f"file.{file['shard']}" if file["shard"] else "file",
        file["path"],
        file["seconds"],
        _of_file(file),
        file["signature"] or file["status"],
        told,
        out="\n".join((sites, *(f"flagged: {flag}" for flag in file["flags"]))),
    )


def _of_file(file: Mapping[str, Any]) -> CaseResult:
    status = FileStatus(file["status"])
    if status == FileStatus.MERGED:
        return "passed"
    if status.is_left_over:
        return "failure"
    return "skipped"


def _shard(name: str, files: Sequence[Mapping[str, Any]]) -> JunitCase:
    """Fails if one of its files did; skipped if one is under way or was left out, and none failed."""
    results = list(map(_of_file, files))
    result = next(one for one in _WORST if one in results)
    rest = []
    for file, one in zip(files, results, strict=True):
        if one != "passed":
            rest.append(file)
    return JunitCase(
        "shard",
        name or "(none)",
        sum(file["seconds"] for file in files),
        result,
        "files",
        f"{len(rest)} of {len(files)} files did not land",
        detail="\n".join(_left(rest)),
        out=f"{len(files)} files",
    )


def _left(files: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for file in files:
        yield ": ".join(filter(None, (file["path"], file["status"], file["reason"])))

"""Summarize a run for a person: what landed, what did not and why, its cost, and where to look."""

import shlex
from collections import Counter
from collections.abc import Iterator

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.text.sanitization import strip_controls, to_one_line
from orchestrator.report.run.contract import build_contract, render_contract_lines
from orchestrator.report.run.forge_checks import render_forge_lines
from orchestrator.report.run.result import find_head_trial
from orchestrator.report.task.receipt import quote_text

_SHOWN = 20
_LEFT = {
    FileStatus.UNCHANGED: "no step could change",
    FileStatus.NEEDS_HUMAN: "left to a person",
    FileStatus.SKIPPED: "skipped",
    FileStatus.REVERTED: "rolled back",
}
_MARKS = {
    FileStatus.REJECTED: "✗",
    FileStatus.NEEDS_HUMAN: "✗",
    FileStatus.REVERTED: "↶",
    FileStatus.UNCHANGED: "·",
    FileStatus.SKIPPED: "·",
}
_SHOWN_FLAKES = 5
_LINE_CHARS = 300


def render_summary_lines(state: RunState, where: str = "") -> Iterator[str]:
    """Yield the summary, some forty lines at most; `where` are the options with which other verbs find the run."""
    run, end = state.run, state.ended or state.paused
    word = (state.ended.outcome if state.ended else "paused") if end else "running"
    yield f"run {run.run}  {word}: {quote_text(end.reason) if end else ''}"
    if state.head:
        yield f"branch {run.branch} at {state.head[:12]}, from {run.target or 'base'} {run.base[:12]}"
    else:
        yield f"nothing landed; base {run.base[:12]} is untouched"
    yield from _migration(state) if run.mode == "migration" else _tasks(state)
    if state.iterations:
        yield from render_contract_lines(build_contract(state), only_unmet=True)
    yield from render_violation_lines(state)
    yield _tests(state)
    yield from _flaky(state)
    price = f"{state.spent.cost_text}{f', up to {state.at_risk.cost_text} more at risk' if state.at_risk.calls else ''}"
    yield f"{state.test_runs} test runs, {state.spent.calls} model calls ({price}), {state.wall_s:.1f} s"
    for pr in list(state.prs.values())[:_SHOWN]:
        yield f"pull request {strip_controls(pr.group)} ({pr.forge}): {pr.url}"
    if len(state.prs) > _SHOWN:
        yield f"  … and {len(state.prs) - _SHOWN} more pull requests: see orchestrate status --json"
    if state.pr and not state.pr.group:
        yield f"pull request ({state.pr.forge}): {state.pr.url}"
    yield from render_forge_lines(state)
    if state.ended is None and state.pending_approvals:
        item = shlex.quote(state.pending_approvals[0].approval.item)
        yield f"answer it: orchestrate watch {run.run}{where}"
        yield f"  or: orchestrate approve {run.run} {item}{where}   (or deny)"
    elif state.ended is None:
        yield f"go on with: orchestrate resume {run.run}{where}"
    elif state.head:
        yield f"look at it: orchestrate diff {run.run}{where}"


def _migration(state: RunState) -> Iterator[str]:
    by_status = {}
    for status in FileStatus:
        by_status[status] = [f for f in state.files.values() if f.status == status]
    landed, rejected = len(by_status[FileStatus.MERGED]), len(by_status[FileStatus.REJECTED])
    left = "".join(f", {len(by_status[status])} {word}" for status, word in _LEFT.items() if by_status[status])
    yield f"{len(state.files)} files in scope: {landed} landed, {rejected} rejected{left}"
    red = next((trial for trial in state.trials if not trial.difference.is_green), None)
    if red is not None and len(red.units) > 1:
        lost = len(red.difference.new_failures) + len(red.difference.missing_tests)
        if lost:
            broken = f"broken {lost} tests"
        else:
            broken = "turned the gate red"
        yield f"all {len(red.units)} changes together would have {broken}"
    rest = [(mark, file) for status, mark in _MARKS.items() for file in by_status[status]]
    for mark, file in rest[:_SHOWN]:
        yield f"  {mark} {strip_controls(file.path)}: {format_reason(file.reason)}"
    if len(rest) > _SHOWN:
        yield f"  … and {len(rest) - _SHOWN} more: see orchestrate status"


def _tasks(state: RunState) -> Iterator[str]:
    leaves = [task for task in state.tasks.values() if task.spec.kind == "leaf"]
    merged = [task for task in leaves if task.status == TaskStatus.MERGED]
    yield f"{len(leaves)} tasks: {len(merged)} merged, {len(leaves) - len(merged)} not"
    for task in leaves[:_SHOWN]:
        if len(task.attempts) > 1:
            tries = f" ({len(task.attempts)} attempts)"
        else:
            tries = ""
        mark = "✓" if task.status == TaskStatus.MERGED else "✗" if task.status.is_terminal else "·"
        cause = f", {task.cause}" if task.cause else ""
        if task.reason:
            reason = f": {format_reason(task.reason)}"
        else:
            reason = ""
        yield f"  {mark} {task.spec.id}  {task.status}{cause}{tries}{reason}"


def render_violation_lines(state: RunState) -> Iterator[str]:
    """Yield a line for each task whose agent tried to leave its sandbox; `show` has every try."""
    by_task: dict[str, Counter[str]] = {}
    for one in state.unapproved_violations:
        by_task.setdefault(one.task or "?", Counter())[one.kind] += 1
    if by_task:
        yield f"tried beyond its walls, which hold ({len(state.unapproved_violations)}; see orchestrate show {state.run.run} TASK):"
    for task, kinds in list(by_task.items())[:_SHOWN]:
        yield f"  ! {task}: {', '.join(f'{count} × {kind}' for kind, count in kinds.items())}"
    if len(by_task) > _SHOWN:
        yield f"  … and {len(by_task) - _SHOWN} more tasks"


def _flaky(state: RunState) -> Iterator[str]:
    tests = state.list_flaky_tests()
    if tests:
        told = ", ".join(f"{strip_controls(test)} ({seen} ×)" for test, seen in tests[:_SHOWN_FLAKES])
        if len(tests) > _SHOWN_FLAKES:
            more = f" and {len(tests) - _SHOWN_FLAKES} more"
        else:
            more = ""
        yield f"flaky tests, which passed and failed on one tree ({len(tests)}): {format_reason(told)}{more}"


def format_reason(text: str) -> str:
    """Return a reason in one bounded line; `show` and `status --json` have all of it."""
    line = to_one_line(text)
    if len(line) <= _LINE_CHARS:
        return line
    return f"{line[:_LINE_CHARS]}…"


def _tests(state: RunState) -> str:
    baseline = state.get_baseline_receipts().values()
    if not baseline:
        return "no baseline was recorded"
    counted = []
    for receipt in baseline:
        if receipt.tests is not None:
            counted.append(receipt.counts)
    if not counted:
        is_red = any(receipt.exit_code != 0 for receipt in baseline)
        return f"the gate reports exit codes only{', and was red before anything changed' * is_red}"
    total = sum((counts for counts in counted[1:]), counted[0])
    red = total.failed + total.errors
    if red:
        already = f", {red} of them red before anything changed"
    else:
        already = ""
    landed = find_head_trial(state)
    if landed is None:
        return f"baseline: {total.total} tests{already}"
    lost = len(landed.difference.new_failures) + len(landed.difference.missing_tests)
    return f"baseline: {total.total} tests{already}; new failing tests on the branch: {lost or 'none'}"

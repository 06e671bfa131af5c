"""Summarize a run for a person: what landed, what did not and why, its cost, and where to look."""

from collections import Counter
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

from orchestrator.domain.event.landing import ClashForeseen
from orchestrator.domain.judging.check import TestCounts
from orchestrator.domain.migration.file_counts import FileCounts
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.run.task_counts import TaskCounts
from orchestrator.domain.text.listing import add_lead, join_limited, limit_lines
from orchestrator.domain.text.sanitization import strip_controls, to_one_line
from orchestrator.report.run.contract import render_contract_lines
from orchestrator.report.run.forge_checks import describe_merging, render_forge_lines
from orchestrator.report.run.left_lines import render_left_lines
from orchestrator.report.run.model import RunResult
from orchestrator.report.run.result import build_run_result, find_head_trial
from orchestrator.report.task.receipt import quote_text

_SHOWN = 20
_MARKS = {"rejected": "✗", "needs_human": "✗", "reverted": "↶", "unchanged": "·", "skipped": "·"}
_SHOWN_FLAKES = 5
_SHOWN_CLASHES = 5
_LINE_CHARS = 300


def render_summary_lines(state: RunState, where: str = "") -> Iterator[str]:
    """Yield the summary, some forty lines at most; `where` are the options with which other verbs find the run."""
    result = build_run_result(state, Path())
    if state.ended:
        yield f"run {result.run}  {result.outcome}"
        yield strip_controls(result.sentence)
    else:
        yield f"run {result.run}  {result.condition.word}: {quote_text(result.condition.cause)}"
    if result.details:
        yield f"  {quote_text(result.details)}"
    if state.head:
        yield f"branch {result.pr_branch} at {state.head[:12]}, from {state.run.target or 'base'} {result.base[:12]}"
    else:
        yield f"nothing landed; base {result.base[:12]} is untouched"
    yield from _render_migration(state, result) if result.mode == "migration" else _render_tasks(state)
    yield from render_left_lines(result.run, result.left_behind, where)
    if state.goal.iterations:
        yield from render_contract_lines(result.contract, only_unmet=True)
    yield from render_violation_lines(state)
    yield _render_tests(state, result.gate.baseline)
    yield from _render_flaky_tests(state)
    yield from _render_clashing_files(state)
    yield from _render_clashes_ahead(state)
    yield _render_spending(state)
    yield from _render_pull_requests(state)
    yield from render_forge_lines(state)
    yield from _render_next_commands(state, where)


def format_test_runs(runs: int, taken_over: int) -> str:
    """Return how many runs of checks there were, and how many receipts of earlier runs stand for others."""
    more = f" and {taken_over} taken over from earlier runs" if taken_over else ""
    return f"{runs} test runs{more}"


def _render_spending(state: RunState) -> str:
    price = state.spend.total.cost_text
    if state.spend.at_risk.calls:
        price += f", up to {state.spend.at_risk.cost_text} more at risk"
    runs = format_test_runs(state.test_runs, state.reused_receipts)
    return f"{runs}, {state.spend.total.calls} model calls (cost {price}), {state.wall_s:.1f} s"


def _render_pull_requests(state: RunState) -> Iterator[str]:
    lines = []
    for pr in state.migration.prs.values():
        lines.append(f"pull request {strip_controls(pr.group)} ({pr.forge}): {pr.url}")
    yield from limit_lines(lines, _SHOWN, "  … and {count} more pull requests: see orchestrate status --json")
    if state.pr and not state.pr.group:
        yield f"pull request ({state.pr.forge}): {state.pr.url}"
    if merging := describe_merging(state):
        yield f"merge it: {merging}"


def _render_next_commands(state: RunState, where: str) -> Iterator[str]:
    run = state.run.run
    if state.ended is None and state.pending_approvals:
        for question in state.pending_approvals[:_SHOWN]:
            yield f"asks {question.id}: {to_one_line(question.approval.title)}"
        first = state.pending_approvals[0]
        yield f"answer it: orchestrate watch {run}{where}"
        yield f"  or: orchestrate approve {run} {first.id}{where}   (or {', '.join(first.approval.answers[1:])})"
    elif state.ended is None:
        yield f"go on with: orchestrate resume {run}{where}"
    elif state.head:
        yield f"look at it: orchestrate diff {run}{where}"


def _render_migration(state: RunState, result: RunResult) -> Iterator[str]:
    files, union = result.files, result.gate.rejected_union
    counts = FileCounts.from_statuses(file.status for file in state.migration.files.values())
    line = f"{counts.in_scope} files in scope: {counts.landed} landed, {counts.describe_rest()}"
    if counts.nothing_to_do:
        line += f", {counts.nothing_to_do} with nothing to do"
    yield line
    if union and union.units > 1:
        lost = union.new_failures + union.missing_tests
        effect = f"broken {lost} tests" if lost else "turned the gate red"
        yield f"all {union.units} changes together would have {effect}"
    lines = []
    for name, mark in _MARKS.items():
        for file in getattr(files, name):
            lines.append(f"  {mark} {strip_controls(file.path)}: {format_reason(file.reason)}")
    yield from limit_lines(lines, _SHOWN, "  … and {count} more: see orchestrate status")


def _render_tasks(state: RunState) -> Iterator[str]:
    leaves = [task for task in state.tasks.values() if task.spec.kind == "leaf"]
    counted = filter(attrgetter("is_counted"), leaves)
    counts = TaskCounts.from_statuses(task.status for task in counted)
    yield f"tasks: {counts.describe_counts()}"
    yield from map(_render_task, leaves[:_SHOWN])


def _render_task(task: TaskState) -> str:
    mark = "·"
    if task.status.is_terminal:
        mark = "✓" if task.status == TaskStatus.MERGED else "✗"
    line = f"  {mark} {task.spec.id}  {task.status.word}{add_lead(', ', task.cause)}"
    if len(task.attempts) > 1:
        line += f" ({len(task.attempts)} attempts)"
    return line + add_lead(": ", format_reason(task.reason))


def render_violation_lines(state: RunState) -> Iterator[str]:
    """Yield a line for each task whose agent tried to leave its sandbox; `show` has every try."""
    violations = state.unapproved_violations
    by_task: dict[str, Counter[str]] = {}
    for violation in violations:
        by_task.setdefault(violation.task or "?", Counter())[violation.kind] += 1
    if not by_task:
        return
    command = f"orchestrate show {state.run.run} TASK"
    yield f"tried beyond its walls, which hold ({len(violations)}; see {command}):"
    lines = []
    for task, kinds in by_task.items():
        counts = ", ".join(f"{count} × {kind}" for kind, count in kinds.items())
        lines.append(f"  ! {task}: {counts}")
    yield from limit_lines(lines, _SHOWN, "  … and {count} more tasks")


def _render_flaky_tests(state: RunState) -> Iterator[str]:
    tests = [f"{strip_controls(test)} ({seen} ×)" for test, seen in state.list_flaky_tests()]
    if tests:
        names = format_reason(join_limited(tests, _SHOWN_FLAKES))
        yield f"flaky tests, which passed and failed on one tree ({len(tests)}): {names}"


def _render_clashing_files(state: RunState) -> Iterator[str]:
    files = []
    for path, clashes in state.list_clashing_files():
        files.append(f"{strip_controls(path)} ({clashes} ×)")
    if files:
        yield f"files in which work clashed ({len(files)}): {format_reason(join_limited(files, _SHOWN_CLASHES))}"


def _render_clashes_ahead(state: RunState) -> Iterator[str]:
    for clash in state.list_clashes_ahead()[:_SHOWN_CLASHES]:
        yield f"work under way would clash: {_format_clash_ahead(clash)}"


def _format_clash_ahead(clash: ClashForeseen) -> str:
    """Return the two sides of a conflict that is foreseen, and the files."""
    other = strip_controls(", ".join(clash.partners)) or "what has landed"
    files = format_reason(join_limited(map(strip_controls, clash.paths), _SHOWN_CLASHES))
    return f"{strip_controls(clash.unit)} and {other} in {files}"


def format_reason(text: str) -> str:
    """Return a reason in one bounded line; `show` and `status --json` have all of it."""
    line = to_one_line(text)
    if len(line) <= _LINE_CHARS:
        return line
    return f"{line[:_LINE_CHARS]}…"


def _render_tests(state: RunState, total: TestCounts | None) -> str:
    baseline = state.get_baseline_receipts().values()
    if not baseline:
        return "no baseline was recorded"
    if total is None:
        is_red = any(receipt.exit_code != 0 for receipt in baseline)
        return f"the gate reports exit codes only{', and was red before anything changed' * is_red}"
    line = f"baseline: {total.total} tests"
    if red := total.failed + total.errors:
        line += f", {red} of them red before anything changed"
    landed = find_head_trial(state)
    if landed is None:
        return line
    lost = len(landed.difference.new_failures) + len(landed.difference.missing_tests)
    return f"{line}; new failing tests on the branch: {lost or 'none'}"

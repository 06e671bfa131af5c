"""Render the status of a run in a few lines for a person."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task_counts import TaskCounts
from orchestrator.domain.run.width import WidthCause
from orchestrator.domain.run_labels import format_labels
from orchestrator.domain.text.listing import add_lead
from orchestrator.domain.text.money import format_cost, format_dollars
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.report.cost.earlier_runs import describe_earlier_costs, suggest_budget_usd
from orchestrator.report.cost.model import BudgetUsage, ShortAmount
from orchestrator.report.hosts.rendering import describe_hosts
from orchestrator.report.migration.burndown_text import UNICODE_GLYPHS, BurndownGlyphs, render_burndown_lines
from orchestrator.report.run.contract import render_contract_lines
from orchestrator.report.run.left_lines import render_left_lines
from orchestrator.report.run.model import DiskSizes, PlannedTask, RunStatus, WorkersAtOnce
from orchestrator.report.run.summary import format_reason, format_test_runs
from orchestrator.report.text.byte_sizes import format_size

_SHOWN = 20


def render_status_lines(status: RunStatus, glyphs: BurndownGlyphs = UNICODE_GLYPHS) -> Iterator[str]:
    """Yield run, branch, what it took so far, the plan tree or the files by state, and what was rejected."""
    called = add_lead(", called ", status.name)
    yield f"{status.run}{called}  {status.condition.word}  {_flatten(status.goal.splitlines()[0])}"
    yield f"  {_flatten(status.sentence or status.reason)}"
    if status.details:
        yield f"  {format_reason(status.details)}"
    if status.next and status.burndown is None:
        yield f"  next: {_flatten(status.next)}"
    if status.labels:
        yield f"  labels {_flatten(' '.join(format_labels(status.labels)))}"
    head = (status.head or "")[:12] or "nothing landed"
    yield f"  branch {status.pr_branch}  base {status.base[:12]}  head {head}"
    for line in render_left_lines(status.run, status.left_behind):
        yield f"  {_flatten(line)}"
    yield _render_spending(status)
    yield from _render_budget(status.budget)
    if status.unlimited and status.outcome in {"running", "paused"}:
        yield f"  {_describe_missing_budget(status)}"
    yield from _render_workers(status.workers)
    if status.hosts is not None:
        yield f"  hosts: {_flatten(describe_hosts(status.hosts))}: orchestrate hosts status {status.run}"
    for line in render_contract_lines(status.contract):
        yield f"  {line}"
    yield from _render_plan(status)
    yield from _render_pull_request(status)
    if status.burndown is not None:
        first, *rest = render_burndown_lines(status.burndown, glyphs)
        yield f"  {first}"
        yield from rest
    yield _render_disk(status.disk)
    yield from _render_left_files(status, glyphs)


def _render_pull_request(status: RunStatus) -> Iterator[str]:
    if status.checks and status.pr:
        yield f"  pull request {_flatten(status.pr.url)}: {_flatten(status.checks.words)}"
    if status.merged:
        yield f"  merged; its target stands at {status.merged.target[:12]}"
    if status.merge_by:
        yield f"  merge it: {_flatten(status.merge_by)}"


def _render_spending(status: RunStatus) -> str:
    spent = status.spent
    runs, each = format_test_runs(status.test_runs, status.receipts_taken_over), status.gate_runs
    if each is not None:
        runs += f" (for each landed task {each.whole:.1f} of the whole gate, {each.partial:.1f} of a part)"
    return f"  {runs}  {spent.calls} model calls  cost {spent.price}  {spent.wall_s:.0f} s"


def _render_budget(budget: BudgetUsage) -> Iterator[str]:
    """Yield each limit of the run with what is used of it, including what is reserved or perhaps billed."""
    used, limit, parts = (budget.spent, budget.at_risk, budget.reserved), budget.limit, []
    if limit.usd:
        parts.append(f"{_format_used_dollars(used)} of {format_dollars(limit.usd)}")
    if limit.tokens:
        parts.append(f"{sum(amount.tokens for amount in used):,} of {limit.tokens:,} tokens")
    if limit.calls:
        parts.append(f"{sum(amount.calls for amount in used):,} of {limit.calls:,} calls")
    if limit.wall_s:
        parts.append(f"{budget.wall_s:,.0f} of {limit.wall_s:,.0f} s")
    if parts:
        yield f"  budget: {', '.join(parts)}"
    elif budget.spent.calls:
        yield "  budget: unlimited"


def _render_workers(workers: WorkersAtOnce | None) -> Iterator[str]:
    """Yield how many workers may be at work and why, where it is not all of them."""
    if workers is not None and workers.cause is not None and workers.now < workers.allowed:
        why = _WIDTH_WORDS[workers.cause].format(_flatten(workers.subject))
        yield f"  workers: {workers.now} of {workers.allowed} at a time, {why}; each landing lets more begin"


_WIDTH_WORDS: Mapping[WidthCause, str] = {
    WidthCause.CONFLICT: "as tasks changed the same lines of {}",
    WidthCause.RED_TOGETHER: "as tests failed when {} met what had landed",
    WidthCause.REWORK: "as most of the last work was sent back, such as {}",
    WidthCause.RATE_LIMIT: "as the provider of {} asked for fewer calls",
}


def _describe_missing_budget(status: RunStatus) -> str:
    """Return that no budget bounds a run that has not ended, what others cost, and how to set one."""
    cost = add_lead("; ", describe_earlier_costs(status.earlier))
    command = f"orchestrate resume {status.run} --budget-usd {suggest_budget_usd(status.earlier):g}"
    return f"no budget bounds its dollars, tokens or calls{cost}; set one: {command}"


def _format_used_dollars(used: Sequence[ShortAmount]) -> str:
    known, is_whole = 0.0, True
    for amount in used:
        known += amount.usd_known
        is_whole = is_whole and amount.usd is not None
    return format_cost(known, is_whole=is_whole)


def _render_disk(disk: DiskSizes) -> str:
    sizes = (
        f"journals {format_size(disk.journals)}, blobs {format_size(disk.blobs)}, "
        f"logs {format_size(disk.logs)}, worktrees {format_size(disk.worktrees)}"
    )
    bound = "" if disk.is_whole else "at least "
    return f"  disk, all runs: {bound}{format_size(disk.total)} ({sizes})"


def _render_left_files(status: RunStatus, glyphs: BurndownGlyphs) -> Iterator[str]:
    files = status.files
    left = (*files.rejected, *(files.unchanged or ()), *(files.needs_human or ()))
    for file in left[:_SHOWN]:
        yield f"  {glyphs.cross} {_flatten(file.path)}: {format_reason(file.reason)}"
    if len(left) > _SHOWN:
        yield f"  {glyphs.more} and {len(left) - _SHOWN} more: orchestrate migrate report {status.run}"


def _render_plan(status: RunStatus) -> Iterator[str]:
    """Yield the counts of a goal's tasks, then every task below its parent, in the order in which they were made."""
    if status.mode == "goal" and status.plan:
        yield f"  tasks {TaskCounts(status.tasks).describe_counts()}"
    names = {task.id for task in status.plan}
    below: dict[TaskId | None, list[PlannedTask]] = {}
    for task in status.plan:
        parent = task.parent if task.parent in names else None
        below.setdefault(parent, []).append(task)
    waiting = [(task, 1) for task in reversed(below.get(None, []))]
    while waiting:
        task, depth = waiting.pop()
        yield _render_task(task, depth)
        for child in reversed(below.get(task.id, [])):
            waiting.append((child, depth + 1))


def _render_task(task: PlannedTask, depth: int) -> str:
    line = f"{'  ' * depth}{task.status.word:9} {task.id}"
    if len(task.attempts) > 1:
        line += f" ×{len(task.attempts)}"
    line += f"  {_flatten(task.title)}"
    if not task.reason:
        return line
    if task.cause:
        line += f"  {task.cause}:"
    else:
        line += " "
    return f"{line} {format_reason(task.reason)}"


def _flatten(text: str) -> str:
    return strip_controls(text).replace("\n", " ")

"""Render the report of a run as Markdown, for an issue or a summary. Words from elsewhere are inert."""

from collections.abc import Iterable
from operator import attrgetter

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.sanitization import sanitize_markdown, to_one_line
from orchestrator.report.cost.model import CostReport
from orchestrator.report.documents.run_report_model import RunReport
from orchestrator.report.migration.full_report import MigrationReport
from orchestrator.report.migration.report_markdown import render_migration_markdown
from orchestrator.report.text.markdown import escape_markdown, join_sections, render_code, render_markdown_table

_MARKS = {True: "✓", False: "✗", None: "·"}


def render_run_markdown(report: RunReport) -> str:
    """Return the whole report under one heading."""
    return join_sections(
        f"## {escape_markdown(report.repository)}: {escape_markdown(report.outcome)}",
        escape_markdown(report.reason),
        _render_goal(report.goal),
        _render_spending(report),
        _render_next_step(report),
        _render_contract(report),
        _render_checks(report),
        _render_tasks(report),
        _render_waste(report.cost),
        _render_migration(report.migration),
        _render_reproduction(report.reproduce),
    )


def _render_goal(goal: str) -> str:
    return "\n".join(f"> {sanitize_markdown(line)}" for line in goal.strip().splitlines())


def _render_spending(report: RunReport) -> str:
    spent, head = report.spent, "nothing landed"
    if report.head:
        head = f"head `{report.head[:12]}`"
    calls = f"{report.test_runs} test runs, {spent.calls} model calls, {spent.price}"
    wall = format_short_duration(spent.wall_s)
    return f"Run `{report.run}`, base `{report.base[:12]}`, {head}: {calls}, {wall} of work."


def _render_next_step(report: RunReport) -> str:
    if not report.next:
        return ""
    return f"Next: {escape_markdown(report.next)}"


def _render_contract(report: RunReport) -> str:
    rows = []
    for criterion in report.contract:
        rows.append((criterion.id, _MARKS[criterion.met], criterion.text, criterion.evidence))
    return render_markdown_table("Contract", ("criterion", "met", "what", "evidence"), rows)


def _render_checks(report: RunReport) -> str:
    rows = map(attrgetter("name", "state", "summary"), report.forge_checks)
    return render_markdown_table("Checks of the forge", ("check", "state", "what it says"), rows)


def _render_tasks(report: RunReport) -> str:
    rows = []
    for task in report.tasks_by_tree:
        rows.append((render_code(task.id), task.status, len(task.attempts), task.price, task.title, task.reason))
    return render_markdown_table("Tasks", ("task", "status", "attempts", "cost", "title", "reason"), rows)


def _render_waste(cost: CostReport) -> str:
    rows = []
    for entry in cost.waste:
        rows.append((entry.name, entry.count, f"{entry.share:.1%}"))
    return render_markdown_table("Wasted", ("what", "times", "share of what was spent"), rows)


def _render_migration(migration: MigrationReport | None) -> str:
    """Return the migration's report with its heading one level below the run's."""
    if migration is None:
        return ""
    return f"\n{render_migration_markdown(migration)}".replace("\n## ", "\n### ").strip()


def _render_reproduction(commands: Iterable[str]) -> str:
    lines = [to_one_line(line).replace("```", "'''") for line in commands]
    return "\n".join(("### How to reproduce", "", "```sh", *lines, "```"))

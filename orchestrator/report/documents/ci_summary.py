"""Render a run for the page of a CI job: Markdown in no more bytes than such a page takes, what matters first."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.listing import limit_lines
from orchestrator.domain.text.sanitization import format_code_span, sanitize_markdown, to_one_line
from orchestrator.report.documents.run_report_model import RunReport
from orchestrator.report.migration.full_report import MigrationReport
from orchestrator.report.migration.report_markdown import (
    render_failure_signatures,
    render_flags,
    render_progress,
    render_step_results,
)
from orchestrator.report.text.markdown import escape_markdown, join_sections, render_code, render_markdown_table

MOST_BYTES = 1024 * 1024
"""What GitHub takes of one step, `$GITHUB_STEP_SUMMARY`; it shows nothing of one that is larger."""
_GOAL_CHARS = 4_000
_LONG_CHARS = 2_000
_NOTICES = 20
_LEFT_OUT = "\n\n_{} lines are left out here: {} has all of them._\n"


def render_step_summary(report: RunReport, most_bytes: int = MOST_BYTES) -> str:
    """Return the summary of what `collect_run_report` gives, in at most `most_bytes` bytes of UTF-8.

    What did not land comes first among the tasks and files, so that a cut takes what went well. Words of models stand
    in it defanged. A cut is told with the number of lines it took and where they are.

    Raises:
        ValueError: not even the first line and the word about the cut have room.
    """
    text = join_sections(
        f"## {escape_markdown(report.repository)}: {escape_markdown(report.outcome)}",
        escape_markdown(report.reason, _LONG_CHARS),
        _render_goal(report.goal.strip()),
        _render_next_step(report.next),
        _render_pull_requests(report),
        _render_checks(report),
        _render_contract(report),
        _render_cost(report),
        _render_notices(report),
        *_render_migration(report.migration),
        _render_tasks(report),
    )
    whole = f"orchestrate report {to_one_line(report.run)} --html FILE"
    return fit_to_bytes(text, most_bytes, format_code_span(whole))


def fit_to_bytes(text: str, most_bytes: int, where: str) -> str:
    """Return the text, or as many of its first lines as fit with a word about the others.

    Args:
        text: of any length.
        most_bytes: of UTF-8.
        where: tells in Markdown where the other lines are.

    Raises:
        ValueError: not even the first line has room.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= most_bytes:
        return data.decode()
    lines = data.decode().splitlines()
    room = most_bytes - len(_LEFT_OUT.format(len(lines), where).encode())
    kept = 0
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept += 1
    if not kept:
        raise ValueError(f"{most_bytes} bytes are too few for a summary")
    return "\n".join(lines[:kept]) + _LEFT_OUT.format(len(lines) - kept, where)


def _render_goal(goal: str) -> str:
    lines = sanitize_markdown(goal, _GOAL_CHARS).splitlines()
    if len(goal) > _GOAL_CHARS:
        lines.append("…")
    return "\n".join(f"> {line}" for line in lines)


def _render_next_step(step: str) -> str:
    if not step:
        return ""
    command, colon, why = step.partition(": ")
    return f"**Next:** {format_code_span(to_one_line(command))}{colon}{escape_markdown(why)}"


def _render_whole_table(title: str, heads: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    return render_markdown_table(title, heads, rows, limit=None)


def _render_pull_requests(report: RunReport) -> str:
    rows = []
    for pr in report.pull_requests:
        rows.append((pr.subject, escape_markdown(pr.url or pr.ref, _LONG_CHARS)))
    return _render_whole_table("Pull requests", ("of", "where"), rows)


def _render_checks(report: RunReport) -> str:
    rows = []
    for check in report.forge_checks:
        rows.append((check.name, check.state, check.summary, escape_markdown(check.url, _LONG_CHARS)))
    return _render_whole_table("Checks of the forge", ("check", "state", "what it says", "where"), rows)


def _render_contract(report: RunReport) -> str:
    rows = map(attrgetter("id", "state_text", "text", "evidence", "exit_codes"), report.contract)
    heads = ("criterion", "state", "what", "evidence", "exit: base → now")
    return _render_whole_table("Contract", heads, rows)


def _render_cost(report: RunReport) -> str:
    spent, head = report.spent, report.head
    price = spent.price
    if report.cost.waste:
        price += f", {report.cost.wasted.share:.0%} of it for work that did not land"
    where = f"head {render_code(head[:12])} on {render_code(report.pr_branch)}" if head else "nothing landed"
    calls = f"{spent.calls} model calls, {spent.tokens:,} tokens, {report.test_runs} test runs"
    return (
        f"### Cost\n\n{price}; {calls}, {format_short_duration(spent.wall_s)} of work.\n\n"
        f"Run {render_code(report.run)}, base {render_code(report.base[:12])}, {where}."
    )


def _render_notices(report: RunReport) -> str:
    lines = limit_lines([f"- {escape_markdown(notice)}" for notice in report.notices], _NOTICES, "- and {count} more")
    if report.unsafe:
        lines.insert(0, "- **Commands of this run had no sandbox.**")
    if not lines:
        return ""
    return "\n".join(("### Notices", "", *lines))


def _render_migration(report: MigrationReport | None) -> Iterator[str]:
    if report is None:
        return
    yield render_progress(report)
    yield render_failure_signatures(report)
    yield render_flags(report)
    yield render_step_results(report)
    rows = []
    for file in report.files:
        if file.status not in {FileStatus.MERGED, FileStatus.SKIPPED}:
            rows.append((render_code(file.path), file.status, file.reason))
    yield _render_whole_table(f"Files that did not land ({len(rows)})", ("file", "status", "reason"), rows)


def _render_tasks(report: RunReport) -> str:
    rows = []
    for task in sorted(report.tasks_by_tree, key=attrgetter("has_landed")):
        rows.append((render_code(task.id), task.status, len(task.attempts), task.price, task.title, task.reason))
    return _render_whole_table("Tasks", ("task", "status", "attempts", "cost", "title", "reason"), rows)

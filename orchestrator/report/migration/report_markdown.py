"""Render the report of a migration as Markdown, for the body of a pull request or an issue.

Words from elsewhere are inert in it.
"""

from collections.abc import Iterable

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.listing import add_lead, format_count
from orchestrator.domain.text.sanitization import format_code_span, to_one_line
from orchestrator.report.migration.burndown_model import BurndownFields
from orchestrator.report.migration.full_report import MigrationReport, ReportedFile, ReportedInvariant
from orchestrator.report.text import markdown
from orchestrator.report.text.html_templates import render_table

_FILES = 200
_GROUP_COLUMNS = {
    "landed": "landed_text",
    "left": "sites_left|number",
    "failed": "rejected",
    "top reason": "top_reason|dash",
}


def render_migration_markdown(report: MigrationReport) -> str:
    """Return the whole report under one heading."""
    return markdown.join_sections(
        f"## {markdown.escape_markdown(report.title)}",
        render_progress(report),
        _render_groups(report),
        render_failure_signatures(report),
        render_flags(report),
        render_step_results(report),
        render_revisions(report),
        render_invariants(report.invariants),
        _render_not_landed(report.files),
        f"Run `{report.run}`, base `{report.base}`.",
    )


def render_progress(report: BurndownFields) -> str:
    """Return how far the migration is, in two lines."""
    now, eta = report.now, report.eta
    until, landed = "", {FileStatus.MERGED, FileStatus.NOTHING_TO_DO}
    others = ", ".join(f"{count} {status.word}" for status, count in now.files.items() if status not in landed)
    rest = add_lead(" (", others, ")")
    if eta:
        until = f"; about {format_short_duration(eta.low_s)} to {format_short_duration(eta.high_s)} of work to go"
    sites = f"**{now.found:,g} {report.unit} → {now.remaining:,g}**"
    return f"{sites}, {report.merged_files} of {report.concerned_files} files landed{rest}{until}."


def _render_groups(report: BurndownFields) -> str:
    owners = report.owners if report.has_owners else ()
    by_owner = render_table("By owner", owners, {"owner": "name|code"} | _GROUP_COLUMNS)
    by_directory = render_table("By directory", report.directories, {"directory": "name|code"} | _GROUP_COLUMNS)
    return "\n\n".join(filter(None, (by_owner, by_directory)))


def render_failure_signatures(report: BurndownFields) -> str:
    """Return a table of the reasons for which files failed alike."""
    columns = {"files": "files", "signature": "signature", "such as": "examples|codes"}
    return render_table("Common failures", report.signatures, columns)


def render_flags(report: BurndownFields) -> str:
    """Return a table of what reviewers should look at."""
    return render_table("To look at", report.flags, {"what": "flag", "files": "files", "such as": "examples|codes"})


def render_step_results(report: BurndownFields) -> str:
    """Return a table of how many files each step brought through."""
    counts = {"tried on": "tried", "landed": "landed", "at the first try": "first_try"}
    return render_table("By step", report.rungs, {"step": "step|code", "kind": "kind"} | counts)


def render_revisions(report: BurndownFields) -> str:
    """Return a list of the recipe's revisions on the way."""
    lines = []
    for number, revision in enumerate(report.revisions, start=2):
        by = add_lead(" by ", markdown.escape_markdown(revision.by))
        lines.append(f"{number}: `{revision.revision}`{by}, {format_count(revision.files, 'file')} done again")
    return markdown.render_markdown_list("Revisions of the recipe", lines)


def render_invariants(rules: Iterable[ReportedInvariant]) -> str:
    """Return a list of what had to hold of every file that landed, beside the tests."""
    return markdown.render_markdown_list("Invariants", list(map(_format_invariant, rules)))


def _format_invariant(rule: ReportedInvariant) -> str:
    details = ", ".join(f"{name} {markdown.render_code(value)}" for name, value in rule.list_details())
    return ": ".join(filter(None, (rule.kind, details)))


def _render_not_landed(files: Iterable[ReportedFile]) -> str:
    lines = [_format_file(file) for file in files if file.status != FileStatus.MERGED]
    return markdown.render_markdown_list(f"Not landed ({len(lines)})", lines, _FILES)


def _format_file(file: ReportedFile) -> str:
    reason = add_lead(": ", markdown.escape_markdown(file.reason))
    return f"{format_code_span(to_one_line(file.path))} {file.status.word}{reason}"

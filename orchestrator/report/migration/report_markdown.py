"""Render the report of a migration as Markdown, for the body of a pull request or an issue.

Words from elsewhere are inert in it.
"""

from collections.abc import Iterable, Sequence

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.listing import format_count
from orchestrator.domain.text.sanitization import format_code_span, to_one_line
from orchestrator.report.migration.burndown_model import NO_GROUP, BurndownFields, GroupSummary, RevisionSummary
from orchestrator.report.migration.full_report_model import MigrationReport, ReportedFile, ReportedInvariant
from orchestrator.report.text.markdown import (
    escape_markdown,
    join_sections,
    render_code,
    render_markdown_list,
    render_markdown_table,
)

_FILES = 200
_GROUP_HEADS = ("landed", "left", "failed", "top reason")


def render_migration_markdown(report: MigrationReport) -> str:
    """Return the whole report under one heading."""
    return join_sections(
        f"## {escape_markdown(report.title)}",
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
    others = []
    for status, count in now.files.items():
        if status not in {FileStatus.MERGED, FileStatus.NOTHING_TO_DO}:
            others.append(f"{count} {status}")
    rest = until = ""
    if others:
        rest = f" ({', '.join(others)})"
    if eta:
        until = f"; about {format_short_duration(eta.low_s)} to {format_short_duration(eta.high_s)} of work to go"
    sites = f"**{now.found:,g} {report.unit} → {now.remaining:,g}**"
    return f"{sites}, {report.merged_files} of {report.concerned_files} files landed{rest}{until}."


def _render_groups(report: BurndownFields) -> str:
    owners = ""
    if report.has_owners:
        owners = render_markdown_table("By owner", ("owner", *_GROUP_HEADS), map(_build_group_row, report.owners))
    directories = map(_build_group_row, report.directories)
    return "\n\n".join(
        filter(None, (owners, render_markdown_table("By directory", ("directory", *_GROUP_HEADS), directories)))
    )


def _build_group_row(group: GroupSummary) -> Sequence[str]:
    reason = escape_markdown(group.top_reason) or NO_GROUP
    share = f"{group.done}/{group.files} ({group.share * 100:.0f} %)"
    return render_code(group.name), share, f"{group.sites_left:,g}", str(group.rejected), reason


def _render_examples(paths: Iterable[str]) -> str:
    return ", ".join(map(render_code, paths))


def render_failure_signatures(report: BurndownFields) -> str:
    """Return a table of the reasons for which files failed alike."""
    rows = []
    for summary in report.signatures:
        rows.append((str(summary.files), escape_markdown(summary.signature), _render_examples(summary.examples)))
    return render_markdown_table("What failed alike", ("files", "signature", "such as"), rows)


def render_flags(report: BurndownFields) -> str:
    """Return a table of what reviewers should look at."""
    rows = []
    for flag in report.flags:
        rows.append((escape_markdown(flag.flag), str(flag.files), _render_examples(flag.examples)))
    return render_markdown_table("To look at", ("what", "files", "such as"), rows)


def render_step_results(report: BurndownFields) -> str:
    """Return a table of how many files each step brought through."""
    rows = []
    for step in report.rungs:
        rows.append((render_code(step.step), step.kind, str(step.tried), str(step.landed), str(step.first_try)))
    return render_markdown_table("By step", ("step", "kind", "tried on", "landed", "at the first try"), rows)


def render_revisions(report: BurndownFields) -> str:
    """Return a list of the recipe's revisions on the way."""
    lines = []
    for number, revision in enumerate(report.revisions, start=2):
        lines.append(f"{number}: {_format_revision(revision)}")
    return render_markdown_list("Revisions of the recipe", lines)


def _format_revision(revision: RevisionSummary) -> str:
    by = ""
    if revision.by:
        by = f" by {escape_markdown(revision.by)}"
    return f"`{revision.revision}`{by}, {format_count(revision.files, 'file')} done again"


def render_invariants(rules: Iterable[ReportedInvariant]) -> str:
    """Return a list of what had to hold of every file that landed, beside the tests."""
    return render_markdown_list("Invariants", list(map(_format_invariant, rules)))


def _format_invariant(rule: ReportedInvariant) -> str:
    details = ", ".join(f"{name} {render_code(value)}" for name, value in rule.list_details())
    return ": ".join(filter(None, (rule.kind, details)))


def _render_not_landed(files: Iterable[ReportedFile]) -> str:
    lines = []
    for file in files:
        if file.status != FileStatus.MERGED:
            lines.append(_format_file(file))
    return render_markdown_list(f"Not landed ({len(lines)})", lines, _FILES)


def _format_file(file: ReportedFile) -> str:
    reason = ""
    if file.reason:
        reason = f": {escape_markdown(file.reason)}"
    return f"{format_code_span(to_one_line(file.path))} {file.status}{reason}"

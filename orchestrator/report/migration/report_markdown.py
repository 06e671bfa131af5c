"""Render the report of a migration as Markdown, for the body of a pull request or an issue.

Words from elsewhere are inert in it.
"""

from collections.abc import Iterable, Sequence

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.listing import add_lead, format_count
from orchestrator.domain.text.sanitization import format_code_span, to_one_line
from orchestrator.report.migration.burndown_model import NO_GROUP, BurndownFields, GroupSummary
from orchestrator.report.migration.full_report import MigrationReport, ReportedFile, ReportedInvariant
from orchestrator.report.text.markdown import (
    Markdown,
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
    until, landed = "", {FileStatus.MERGED, FileStatus.NOTHING_TO_DO}
    others = ", ".join(f"{count} {status}" for status, count in now.files.items() if status not in landed)
    rest = add_lead(" (", others, ")")
    if eta:
        until = f"; about {format_short_duration(eta.low_s)} to {format_short_duration(eta.high_s)} of work to go"
    sites = f"**{now.found:,g} {report.unit} → {now.remaining:,g}**"
    return f"{sites}, {report.merged_files} of {report.concerned_files} files landed{rest}{until}."


def _render_groups(report: BurndownFields) -> str:
    owners = report.owners if report.has_owners else ()
    tables = (("owner", owners), ("directory", report.directories))
    sections = (
        render_markdown_table(f"By {kind}", (kind, *_GROUP_HEADS), map(_build_group_row, of)) for kind, of in tables
    )
    return "\n\n".join(filter(None, sections))


def _build_group_row(group: GroupSummary) -> Sequence[object]:
    share = f"{group.done}/{group.files} ({group.share * 100:.0f} %)"
    return render_code(group.name), share, f"{group.sites_left:,g}", group.rejected, group.top_reason or NO_GROUP


def _render_examples(paths: Iterable[str]) -> Markdown:
    return Markdown(", ".join(map(render_code, paths)))


def render_failure_signatures(report: BurndownFields) -> str:
    """Return a table of the reasons for which files failed alike."""
    rows = []
    for one in report.signatures:
        rows.append((one.files, one.signature, _render_examples(one.examples)))
    return render_markdown_table("What failed alike", ("files", "signature", "such as"), rows)


def render_flags(report: BurndownFields) -> str:
    """Return a table of what reviewers should look at."""
    rows = [(flag.flag, flag.files, _render_examples(flag.examples)) for flag in report.flags]
    return render_markdown_table("To look at", ("what", "files", "such as"), rows)


def render_step_results(report: BurndownFields) -> str:
    """Return a table of how many files each step brought through."""
    rows = []
    for step in report.rungs:
        rows.append((render_code(step.step), step.kind, step.tried, step.landed, step.first_try))
    return render_markdown_table("By step", ("step", "kind", "tried on", "landed", "at the first try"), rows)


def render_revisions(report: BurndownFields) -> str:
    """Return a list of the recipe's revisions on the way."""
    lines = []
    for number, revision in enumerate(report.revisions, start=2):
        by = add_lead(" by ", escape_markdown(revision.by))
        lines.append(f"{number}: `{revision.revision}`{by}, {format_count(revision.files, 'file')} done again")
    return render_markdown_list("Revisions of the recipe", lines)


def render_invariants(rules: Iterable[ReportedInvariant]) -> str:
    """Return a list of what had to hold of every file that landed, beside the tests."""
    return render_markdown_list("Invariants", list(map(_format_invariant, rules)))


def _format_invariant(rule: ReportedInvariant) -> str:
    details = ", ".join(f"{name} {render_code(value)}" for name, value in rule.list_details())
    return ": ".join(filter(None, (rule.kind, details)))


def _render_not_landed(files: Iterable[ReportedFile]) -> str:
    lines = [_format_file(file) for file in files if file.status != FileStatus.MERGED]
    return render_markdown_list(f"Not landed ({len(lines)})", lines, _FILES)


def _format_file(file: ReportedFile) -> str:
    reason = add_lead(": ", escape_markdown(file.reason))
    return f"{format_code_span(to_one_line(file.path))} {file.status}{reason}"

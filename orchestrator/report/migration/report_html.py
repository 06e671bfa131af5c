"""Render the report of a migration as one HTML page that needs nothing else."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.money import format_dollars
from orchestrator.report.migration.burndown_drawing import BurndownChart, build_burndown_chart
from orchestrator.report.migration.burndown_model import GroupSummary
from orchestrator.report.migration.burndown_text import format_seconds
from orchestrator.report.migration.full_report_model import MigrationReport, ReportedFile
from orchestrator.report.text.html_templates import HtmlTable, build_html_table, format_number, render_template

_GROUP_HEADS = ("#files", "#landed", "#%", "#left", "#failed", "#PRs", "#s/file", "#cost", "top reason")


@dataclass(frozen=True)
class MigrationParts:
    """The parts of a page below its head: the curve, and tables down to every file."""

    chart: BurndownChart | None
    tables: tuple[HtmlTable, ...]


def render_migration_html(report: MigrationReport) -> str:
    """Return the page."""
    counts = ", ".join(f"{count} {name}" for name, count in report.now.files.items())
    return render_template("migration.html", report=report, file_counts=counts, parts=build_migration_parts(report))


def build_migration_parts(report: MigrationReport) -> MigrationParts:
    """Return the curve and the tables."""
    chart = build_burndown_chart(report.series, report.ideal, report.unit)
    return MigrationParts(chart, tuple(_iterate_tables(report)))


def _iterate_tables(report: MigrationReport) -> Iterator[HtmlTable]:
    yield _build_marks_table(report)
    if report.has_owners:
        yield _build_group_table("owner", report.owners)
    yield _build_group_table("directory", report.directories)
    yield _build_signature_table(report)
    yield _build_flag_table(report)
    yield _build_step_table(report)
    yield _build_revision_table(report)
    yield _build_invariant_table(report)
    yield _build_file_table(report)


def _build_marks_table(report: MigrationReport) -> HtmlTable:
    rows = []
    for point in report.series:
        if point.mark:
            rows.append((format_short_duration(point.at), format_number(point.sites), point.mark))
    return build_html_table("What happened", ("#after", f"#{report.unit} left", "what happened"), rows)


def _build_group_table(kind: str, groups: Iterable[GroupSummary]) -> HtmlTable:
    return build_html_table(f"By {kind}", (kind, *_GROUP_HEADS), map(_build_group_row, groups))


def _build_group_row(group: GroupSummary) -> Sequence[object]:
    return (
        group.name,
        group.files,
        group.done,
        f"{group.share * 100:.0f}",
        format_number(group.sites_left),
        group.rejected,
        group.prs,
        format_seconds(group.p50_s),
        format_dollars(group.usd),
        group.top_reason,
    )


def _build_signature_table(report: MigrationReport) -> HtmlTable:
    rows = []
    for summary in report.signatures:
        steps, examples = ", ".join(summary.steps), ", ".join(summary.examples)
        rows.append((summary.files, format_number(summary.sites), steps, summary.signature, examples))
    heads = ("#files", f"#{report.unit}", "steps", "signature", "such as")
    return build_html_table("What failed alike", heads, rows)


def _build_flag_table(report: MigrationReport) -> HtmlTable:
    rows = [(flag.files, flag.flag, ", ".join(flag.examples)) for flag in report.flags]
    return build_html_table("To look at in review", ("#files", "what", "such as"), rows)


def _build_step_table(report: MigrationReport) -> HtmlTable:
    rows = map(attrgetter("step", "kind", "tried", "landed", "first_try", "later_try"), report.rungs)
    return build_html_table("By step", ("step", "kind", "#tried on", "#landed", "#first try", "#later"), rows)


def _build_revision_table(report: MigrationReport) -> HtmlTable:
    rows = []
    for number, revision in enumerate(report.revisions, start=2):
        rows.append((number, revision.revision, revision.by, revision.files))
    return build_html_table("Revisions of the recipe", ("#no.", "recipe", "by", "#files done again"), rows)


def _build_invariant_table(report: MigrationReport) -> HtmlTable:
    rows = []
    for rule in report.invariants:
        rows.append((rule.kind, ", ".join(f"{name} = {value}" for name, value in rule.list_details())))
    return build_html_table("Invariants", ("kind", "what"), rows)


def _build_file_table(report: MigrationReport) -> HtmlTable:
    heads = ("file", "status", "owner", "shard", "step", "#sites", "#left", "reason", "signature", "commit")
    return build_html_table("Files", heads, map(_build_file_row, report.files))


def _build_file_row(file: ReportedFile) -> Sequence[object]:
    place = (file.path, file.status, file.owner, file.shard, file.step)
    return (*place, file.sites, file.sites_left, file.reason, file.signature, file.commit[:12])

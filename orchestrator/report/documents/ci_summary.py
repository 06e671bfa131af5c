"""Render a run for the page of a CI job: Markdown in no more bytes than such a page takes, what matters first."""

from collections.abc import Iterator

from orchestrator.domain.text.sanitization import format_code_span, to_one_line
from orchestrator.report.documents.run_report_model import RunReport
from orchestrator.report.migration import report_markdown
from orchestrator.report.migration.full_report import MigrationReport
from orchestrator.report.text.html_templates import render_markdown_template
from orchestrator.report.text.markdown import Markdown

MOST_BYTES = 1024 * 1024
"""What GitHub takes of one step, `$GITHUB_STEP_SUMMARY`; it shows nothing of one that is larger."""
_LEFT_OUT = "\n\n_{} lines are left out here: {} has all of them._\n"


def render_step_summary(report: RunReport, most_bytes: int = MOST_BYTES) -> str:
    """Return the summary of what `collect_run_report` gives, in at most `most_bytes` bytes of UTF-8.

    What did not land comes first among the tasks and files, so that a cut takes what went well. Words of models stand
    in it defanged. A cut is told with the number of lines it took and where they are.

    Raises:
        ValueError: not even the first line and the word about the cut have room.
    """
    sections = _iterate_migration_sections(report.migration) if report.migration else ()
    text = render_markdown_template("ci_summary.md", report=report, migration=Markdown("\n\n".join(sections)))
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


def _iterate_migration_sections(report: MigrationReport) -> Iterator[str]:
    yield report_markdown.render_progress(report)
    yield report_markdown.render_failure_signatures(report)
    yield report_markdown.render_flags(report)
    yield report_markdown.render_step_results(report)

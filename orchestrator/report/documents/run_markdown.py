"""Render the report of a run as Markdown, for an issue or a summary. Words from elsewhere are inert."""

from orchestrator.report.documents.run_report_model import RunReport
from orchestrator.report.migration.report_markdown import render_migration_markdown
from orchestrator.report.text.html_templates import render_markdown_template
from orchestrator.report.text.markdown import Markdown


def render_run_markdown(report: RunReport) -> str:
    """Return the whole report under one heading, that of a migration one level below it."""
    migration = ""
    if report.migration:
        migration = f"\n{render_migration_markdown(report.migration)}".replace("\n## ", "\n### ")
    return render_markdown_template("run.md", report=report, migration=Markdown(migration))

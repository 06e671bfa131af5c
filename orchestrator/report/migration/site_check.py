"""The result of `migrate check`: lines for a person, annotations for GitHub, and `orchestrate.ratchet/1`."""

from collections.abc import Iterator
from typing import Literal

from orchestrator.domain.text.listing import add_lead
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.read_model import Document, ReadModel


class SiteLimit(ReadModel):
    """A kind of site: how many were found, and how many are allowed, None without a limit of its own."""

    site: str
    pattern: str
    found: int
    allowed: int | None


class CheckedSite(ReadModel):
    """A site; `is_over` tells that there are too many of its kind, or of all.

    `news` tells what the earlier commit did not have: `came back` in a file that had none of this kind, else `new`.
    """

    path: str
    line: int
    column: int
    site: str
    text: str
    news: Literal["", "new", "came back"]
    is_over: bool


class SiteCheckReport(Document, schema="orchestrate.ratchet/1"):
    """The verdict on one commit; `since` is the earlier one it was compared with, or empty."""

    migration: str
    commit: str
    since: str
    files: int
    found: int
    allowed: int
    holds: bool
    exit: int
    limits: tuple[SiteLimit, ...]
    sites: tuple[CheckedSite, ...]
    skipped: tuple[str, ...]


_ANNOTATIONS = 50
"""A service shows only the first few anyway."""


def render_site_check_lines(report: SiteCheckReport) -> Iterator[str]:
    """Yield the sites of kinds of which there are too many, new ones first; then the verdict."""
    for site in list_excess_sites(report):
        news = add_lead("  (", site.news, f" since {to_one_line(report.since)})")
        yield f"{site.path}:{site.line}:{site.column}: {site.site}: {to_one_line(site.text)}{news}"
    for text in report.skipped:
        yield f"note: {to_one_line(text)}"
    for limit in report.limits:
        yield _format_limit(limit)
    yield _format_verdict(report)


def _format_limit(limit: SiteLimit) -> str:
    if limit.allowed is None:
        return f"{limit.site}: {limit.found} found"
    return f"{limit.site}: {limit.found} found, {limit.allowed} allowed"


def _format_verdict(report: SiteCheckReport) -> str:
    since, word = "", "FAILED: there are more sites than allowed"
    if report.since:
        new = sum(bool(site.news) for site in report.sites)
        since = f", {new} of them not there at {to_one_line(report.since)}"
    if report.holds:
        word = "holds"
    found = f"{report.found} sites ({report.allowed} allowed) in {report.files} files"
    return f"{found} at {report.commit[:12]}{since}: {word}"


def list_excess_sites(report: SiteCheckReport) -> list[CheckedSite]:
    """Return the sites of kinds of which there are too many, new ones first."""
    return sorted((site for site in report.sites if site.is_over), key=_is_old)


def _is_old(site: CheckedSite) -> bool:
    return not site.news


def render_github_annotations(report: SiteCheckReport) -> Iterator[str]:
    """Yield the same as workflow commands, by which GitHub shows them at their lines."""
    for site in list_excess_sites(report)[:_ANNOTATIONS]:
        title = site.site + add_lead(", ", site.news, f" since {report.since}")
        place = f"file={_escape_property(site.path)},line={site.line},col={site.column}"
        yield f"::error {place},title={_escape_property(title)}::{_escape_message(to_one_line(site.text))}"


def _escape_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_message(text).replace(":", "%3A").replace(",", "%2C")

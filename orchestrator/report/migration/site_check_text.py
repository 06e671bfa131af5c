"""What `migrate check` says: lines for a person, annotations for GitHub."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.domain.text.sanitization import to_one_line

_ANNOTATIONS = 50
"""A service shows only the first few anyway."""


def render_site_check_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The sites of kinds of which there are too many, new ones first; then the verdict."""
    for site in list_excess_sites(report):
        if site["news"]:
            news = f"  ({site['news']} since {to_one_line(report['since'])})"
        else:
            news = ""
        yield f"{site['path']}:{site['line']}:{site['column']}: {site['site']}: {to_one_line(site['text'])}{news}"
    for text in report["skipped"]:
        yield f"note: {to_one_line(text)}"
    for kind in report["limits"]:
        yield _limit(kind)
    new = sum(bool(site["news"]) for site in report["sites"])
    if report["since"]:
        since = f", {new} of them not there at {to_one_line(report['since'])}"
    else:
        since = ""
    if report["holds"]:
        word = "holds"
    else:
        word = "FAILED: there are more sites than allowed"
    found = f"{report['found']} sites ({report['allowed']} allowed) in {report['files']} files"
    yield f"{found} at {report['commit'][:12]}{since}: {word}"


def _limit(kind: Mapping[str, Any]) -> str:
    if kind["allowed"] is None:
        bound = ""
    else:
        bound = f", {kind['allowed']} allowed"
    return f"{kind['site']}: {kind['found']} found{bound}"


def list_excess_sites(report: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The sites of kinds of which there are too many, new ones first."""
    return sorted((site for site in report["sites"] if site["is_over"]), key=lambda site: not site["news"])


def render_github_annotations(report: Mapping[str, Any]) -> Iterator[str]:
    """The same as workflow commands, by which GitHub shows them at their lines."""
    for site in list_excess_sites(report)[:_ANNOTATIONS]:
        if site["news"]:
            news = f", {site['news']} since {report['since']}"
        else:
            news = ""
        place = f"file={_property(site['path'])},line={site['line']},col={site['column']}"
        title = _property(f"{site['site']}{news}")
        yield f"::error {place},title={title}::{_message(to_one_line(site['text']))}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")

"""Build SARIF 2.1.0, which code scanning services read: logs of one tool with one run, and the sites of a migration."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from orchestrator.report.migration.site_check_model import CheckedSite, SiteCheckReport

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def build_sarif_log(
    version: str, rules: Iterable[tuple[str, str]], results: Sequence[Mapping[str, Any]], **run_fields: object
) -> dict[str, Any]:
    """Return a log of this program in its `version`: `rules` are ids with a description."""
    described = []
    for name, description in rules:
        described.append({"id": name, "shortDescription": {"text": description}})
    driver = {"name": "orchestrate", "version": version, "rules": described}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", **run_fields, "results": list(results)}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def build_sarif_location(path: str, line: int | None = None, column: int | None = None) -> dict[str, Any]:
    """Return a place in a file of the repository; lines and columns count from 1, None means the whole file or line."""
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(path, errors="replace")}}
    if line is not None:
        region = physical["region"] = {"startLine": line}
        if column is not None:
            region["startColumn"] = column
    return {"physicalLocation": physical}


def build_site_check_sarif(report: SiteCheckReport, version: str) -> dict[str, Any]:
    """Return the log of one check: a result for each site, an error where its kind has too many."""
    results = [_build_result(site, report.since) for site in report.sites]
    return build_sarif_log(version, _iterate_rules(report), results)


def _iterate_rules(report: SiteCheckReport) -> Iterator[tuple[str, str]]:
    for kind in report.limits:
        yield kind.site, f"a site of kind {kind.site}: {kind.pattern}"


def _build_result(site: CheckedSite, since: str) -> dict[str, Any]:
    level, state, news = "note", "unchanged", ""
    if site.is_over:
        level = "error"
    if site.news:
        state, news = "new", f" ({site.news} since {since})"
    result: dict[str, Any] = {
        "ruleId": site.site,
        "level": level,
        "message": {"text": f"{site.site}{news}: {site.text}"},
        "locations": [build_sarif_location(site.path, site.line, site.column)],
    }
    if since:
        result["baselineState"] = state
    return result

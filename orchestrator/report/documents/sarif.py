"""SARIF 2.1.0, which code scanning services read: logs of one tool with one run, and the sites of a migration."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def build_sarif_log(
    version: str, rules: Iterable[tuple[str, str]], results: Sequence[Any], **more: object
) -> dict[str, Any]:
    """A log of this program in its `version`: `rules` are ids with a description, `more` goes into the run."""
    described = []
    for name, what in rules:
        described.append({"id": name, "shortDescription": {"text": what}})
    driver = {"name": "orchestrate", "version": version, "rules": described}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", **more, "results": list(results)}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def build_sarif_location(path: str, line: int | None = None, column: int | None = None) -> dict[str, Any]:
    """A location in a file of the repository; lines and columns count from 1, None means the whole file or line."""
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(path, errors="replace")}}
    if line is not None:
        physical["region"] = {"startLine": line} | ({"startColumn": column} if column is not None else {})
    return {"physicalLocation": physical}


def build_site_check_sarif(report: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The log of one check (`orchestrate.ratchet/1`): a result for each site, an error where its kind has too many."""
    rules = ((kind["site"], f"a site of kind {kind['site']}: {kind['pattern']}") for kind in report["limits"])
    return build_sarif_log(version, rules, [_result(site, report) for site in report["sites"]])


def _result(site: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    if site["news"]:
        news = f" ({site['news']} since {report['since']})"
    else:
        news = ""
    result: dict[str, Any] = {
        "ruleId": site["site"],
        "level": "error" if site["is_over"] else "note",
        "message": {"text": f"{site['site']}{news}: {site['text']}"},
        "locations": [build_sarif_location(site["path"], site["line"], site["column"])],
    }
    if report["since"]:
        result["baselineState"] = "new" if site["news"] else "unchanged"
    return result

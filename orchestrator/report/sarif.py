"""Sites as SARIF 2.1.0, which code scanning services read."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(report: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The log of one check (`orchestrate.ratchet/1`): a result for each site, an error where its kind has too many."""
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "orchestrate", "version": version, "rules": _rules(report["limits"])}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(site, report) for site in report["sites"]],
            }
        ],
    }


def _rules(kinds: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"id": kind["site"], "shortDescription": {"text": f"a site of kind {kind['site']}: {kind['pattern']}"}}
        for kind in kinds
    ]


def _result(site: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    news = f" ({site['news']} since {report['since']})" if site["news"] else ""
    result: dict[str, Any] = {
        "ruleId": site["site"],
        "level": "error" if site["is_over"] else "note",
        "message": {"text": f"{site['site']}{news}: {site['text']}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(site["path"])},
                    "region": {"startLine": site["line"], "startColumn": site["column"]},
                }
            }
        ],
    }
    if report["since"]:
        result["baselineState"] = "new" if site["news"] else "unchanged"
    return result

"""Build SARIF 2.1.0 of what the judge found in a run, for code scanning services and editors."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.report.documents.judge_findings import FindingLevel, JudgeFinding, iterate_judge_findings
from orchestrator.report.documents.sarif import build_sarif_location, build_sarif_log

MOST_RESULTS = 5_000
"""What GitHub shows of one log; of more, those that are excused are left out first, then those that weigh least."""
_CHARS = 2_000
_LEVELS: Sequence[FindingLevel] = ("error", "warning", "note")
_OTHER_FINDINGS = {
    "conflict": "a change that conflicts with what has landed",
    "contract": "a criterion of the run's contract that is not met",
    "noticed": "what was noticed of a change and decided nothing",
    "red-tests": "tests that fail, are missing or skipped, and were not on the base",
    "red-together": "tests that fail together with other changes",
    "rule-broken": "a rule for changes that was broken",
    "unfinished": "an attempt that ended before it was done",
}
"""What no rule of the judge finds, in a few words."""
RULE_DESCRIPTIONS: Mapping[str, str] = {
    **_OTHER_FINDINGS,
    **{rule.value: rule.description for rule in RuleId},
}


def build_run_sarif(report: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the log of what `collect_run_report` gives; `version` is this program's.

    What the plan granted, and what was found in work that is not on the branch, is there as suppressed. Findings
    whose words name no file have no location.
    """
    found = sorted(iterate_judge_findings(report), key=_rank_finding)
    kept = found[:MOST_RESULTS]
    properties = {name: report[name] for name in ("run", "outcome", "base", "head")}
    properties["resultsLeftOut"] = len(found) - len(kept)
    return build_sarif_log(
        version,
        [(rule, _describe_rule(rule)) for rule in sorted({finding.rule for finding in kept})],
        list(map(_build_result, kept)),
        automationDetails={"id": f"orchestrate/{report['run']}"},
        properties=properties,
    )


def _rank_finding(finding: JudgeFinding) -> tuple[bool, int]:
    return bool(finding.excuse), _LEVELS.index(finding.level)


def _describe_rule(rule: str) -> str:
    if rule.startswith("review/"):
        return f"what the reviewer `{rule.removeprefix('review/')}` found wrong"
    return RULE_DESCRIPTIONS.get(rule, rule.replace("-", " "))


def _build_result(finding: JudgeFinding) -> dict[str, Any]:
    text = strip_controls(finding.text)
    if len(text) > _CHARS:
        text = f"{text[:_CHARS]}…"
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": finding.level,
        "message": {"text": text},
        "properties": {"task": finding.task, "attempt": finding.attempt},
    }
    places = [build_sarif_location(*place) for place in finding.places]
    if places:
        result["locations"] = places[:1]
    if places[1:]:
        result["relatedLocations"] = places[1:]
    if finding.excuse:
        result["suppressions"] = [{"kind": "external", "justification": finding.excuse}]
    return result

"""What the judge found in a run as SARIF 2.1.0, for code scanning services and editors."""

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
    """The log, made of what `report.run_report.run_report` gives; `version` is this program's.

    What the plan granted, and what was found in work that is not on the branch, is there as suppressed. Findings
    whose words name no file have no location.
    """
    found = sorted(iterate_judge_findings(report), key=lambda one: (bool(one.excuse), _LEVELS.index(one.level)))
    kept = found[:MOST_RESULTS]
    rules = dict.fromkeys(sorted(one.rule for one in kept))
    return build_sarif_log(
        version,
        ((rule, _described(rule)) for rule in rules),
        [_result(one) for one in kept],
        automationDetails={"id": f"orchestrate/{report['run']}"},
        properties={name: report[name] for name in ("run", "outcome", "base", "head")}
        | {"resultsLeftOut": len(found) - len(kept)},
    )


def _described(rule: str) -> str:
    if rule.startswith("review/"):
        return f"what the reviewer `{rule.partition('/')[2]}` found wrong"
    return RULE_DESCRIPTIONS.get(rule, rule.replace("-", " "))


def _result(one: JudgeFinding) -> dict[str, Any]:
    text = strip_controls(one.text)
    result: dict[str, Any] = {
        "ruleId": one.rule,
        "level": one.level,
        "message": {"text": text if len(text) <= _CHARS else f"{text[:_CHARS]}…"},
        "properties": {"task": one.task, "attempt": one.attempt},
    }
    places = [build_sarif_location(*where) for where in one.places]
    if places:
        result["locations"] = places[:1]
    if places[1:]:
        result["relatedLocations"] = places[1:]
    if one.excuse:
        result["suppressions"] = [{"kind": "external", "justification": one.excuse}]
    return result

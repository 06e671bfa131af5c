"""Build SARIF 2.1.0 of what the judge found in a run, for code scanning services and editors."""

from collections.abc import Mapping, Sequence

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.report.documents.judge_findings import JudgeFinding, iterate_judge_findings
from orchestrator.report.documents.run_report_model import RunReport
from orchestrator.report.documents.sarif import (
    SarifAutomation,
    SarifLevel,
    SarifLog,
    SarifResult,
    SarifResultProperties,
    SarifRun,
    SarifRunProperties,
    SarifSuppression,
    SarifText,
    build_sarif_location,
    build_sarif_tool,
)

MOST_RESULTS = 5_000
"""What GitHub shows of one log; of more, those that are excused are left out first, then those that weigh least."""
_CHARS = 2_000
_LEVELS: Sequence[SarifLevel] = ("error", "warning", "note")
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


def build_run_sarif(report: RunReport, version: str) -> SarifLog:
    """Return the log of a run; `version` is this program's.

    What the plan granted, and what was found in work that is not on the branch, is there as suppressed. Findings
    whose words name no file have no location.
    """
    found = sorted(iterate_judge_findings(report), key=_rank_finding)
    kept = found[:MOST_RESULTS]
    rules = [(rule, _describe_rule(rule)) for rule in sorted({finding.rule for finding in kept})]
    run = SarifRun(
        tool=build_sarif_tool(version, rules),
        automation_details=SarifAutomation(id=f"orchestrate/{report.run}"),
        properties=SarifRunProperties(
            run=report.run,
            outcome=report.outcome,
            base=report.base,
            head=report.head,
            results_left_out=len(found) - len(kept),
        ),
        results=tuple(map(_build_result, kept)),
    )
    return SarifLog(runs=(run,))


def _rank_finding(finding: JudgeFinding) -> tuple[bool, int]:
    return bool(finding.excuse), _LEVELS.index(finding.level)


def _describe_rule(rule: str) -> str:
    if rule.startswith("review/"):
        return f"what the reviewer `{rule.removeprefix('review/')}` found wrong"
    return RULE_DESCRIPTIONS.get(rule, rule.replace("-", " "))


def _build_result(finding: JudgeFinding) -> SarifResult:
    text = strip_controls(finding.text)
    if len(text) > _CHARS:
        text = f"{text[:_CHARS]}…"
    places = tuple(build_sarif_location(*place) for place in finding.places)
    suppressions = None
    if finding.excuse:
        suppressions = (SarifSuppression(justification=finding.excuse),)
    return SarifResult(
        rule_id=finding.rule,
        level=finding.level,
        message=SarifText(text=text),
        properties=SarifResultProperties(task=finding.task, attempt=finding.attempt),
        locations=places[:1] or None,
        related_locations=places[1:] or None,
        suppressions=suppressions,
    )

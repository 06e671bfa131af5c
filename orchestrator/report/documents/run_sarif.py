"""Build SARIF 2.1.0 of what the judge found in a run, with the places that its words name, for code scanning."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.domain.judging.verdict import Finding, LensVote, PointFinding, RuleId, Verdict
from orchestrator.domain.run.task import EndCause
from orchestrator.domain.text.listing import add_lead
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.report.documents import sarif
from orchestrator.report.documents.run_report_model import ReportedAttempt, ReportedTask, RunReport

FindingPlace = tuple[str, int | None]
"""A path of the repository, and a line of it that counts from 1."""
GRANTED_EXCUSE = "the plan lets this file change"
_PLACES = 10


@dataclass(frozen=True)
class JudgeFinding:
    """A finding; `excuse` says why it asks for nothing any more: it was granted, or the work did not land."""

    rule: str
    level: sarif.SarifLevel
    text: str
    places: tuple[FindingPlace, ...] = ()
    task: str = ""
    attempt: int = 0
    excuse: str = ""


def iterate_judge_findings(report: RunReport) -> Iterator[JudgeFinding]:
    """Yield all findings of what `collect_run_report` gives, in the order of the tree.

    An earlier attempt is excused where a later one went on from it: what is still there was found again.
    """
    for task in report.tasks_by_tree:
        for attempt in task.attempts:
            yield from _iterate_attempt_findings(task, attempt, is_last=attempt is task.attempts[-1])
    for criterion in report.contract:
        if criterion.met is False:
            text = f"{criterion.id} is not met: {criterion.text}. {criterion.evidence}"
            yield JudgeFinding("contract", "error", text.strip())


def _iterate_attempt_findings(task: ReportedTask, attempt: ReportedAttempt, *, is_last: bool) -> Iterator[JudgeFinding]:
    paths = attempt.candidate.paths if attempt.candidate else ()
    excuse = ""
    if not is_last or attempt.fate not in {"landed", "open"}:
        excuse = _explain_superseded(attempt)
    for found in (*_iterate_verdict_findings(task, attempt), *_iterate_ejections(attempt)):
        yield replace(
            found,
            places=found.places or find_places(found.text, paths),
            task=task.id,
            attempt=attempt.number,
            excuse=found.excuse or excuse,
        )


def _explain_superseded(attempt: ReportedAttempt) -> str:
    if attempt.fate == "landed":
        return "a later attempt went on from this one, and was judged anew"
    if attempt.fate == "discarded":
        return "a restart left this work behind"
    return f"this work did not land: {attempt.fate}"


def _iterate_verdict_findings(task: ReportedTask, attempt: ReportedAttempt) -> Iterator[JudgeFinding]:
    for verdict in attempt.verdicts:
        has_reason = False
        for finding in verdict.findings:
            has_reason = has_reason or finding.is_blocking
            yield _build_rule_finding(finding)
        if not verdict.findings:  # a journal of before there were any
            for flag in verdict.flags:
                yield JudgeFinding("noticed", "warning", flag)
        for vote in verdict.votes:
            if vote.decision != "approve":
                has_reason = True
                yield from _iterate_vote_findings(task, vote)
        if verdict.kind != "merge" and not has_reason:
            yield from _iterate_cause_findings(verdict)


def _build_rule_finding(finding: Finding) -> JudgeFinding:
    level: sarif.SarifLevel = "error" if finding.is_blocking else "warning"
    places = ((finding.path, finding.line),) if finding.path else ()
    excuse = GRANTED_EXCUSE if finding.is_granted else ""
    return JudgeFinding(finding.rule, level, finding.text, places, excuse=excuse)


def _iterate_vote_findings(task: ReportedTask, vote: LensVote) -> Iterator[JudgeFinding]:
    rule = f"review/{vote.lens}"
    for reason in vote.reasons:
        yield JudgeFinding(rule, "error", reason)
    requirements = {"outcome": task.outcome}
    for number, text in enumerate(task.acceptance, start=1):
        requirements[f"A{number}"] = text
    for point in vote.findings:
        if not point.met:
            yield JudgeFinding(rule, "error", _describe_unmet_point(point, requirements.get(point.id, "")))


def _describe_unmet_point(point: PointFinding, requirement: str) -> str:
    shown = add_lead(" (shown by ", ", ".join(point.evidence), ")")
    return f"{point.id} is not met: {requirement}{shown}"


def _iterate_cause_findings(verdict: Verdict) -> Iterator[JudgeFinding]:
    """Yield what no rule and no reviewer said: red tests, an attempt that ended before it was done, trouble."""
    if not verdict.reasons:
        return
    level: sarif.SarifLevel = "error"
    if verdict.cause and verdict.cause.is_infrastructure:
        level = "warning"
    yield JudgeFinding(verdict.cause or verdict.kind, level, "\n".join(verdict.reasons))


def _iterate_ejections(attempt: ReportedAttempt) -> Iterator[JudgeFinding]:
    rule = EndCause.RED_TOGETHER
    places = tuple((path, None) for path in attempt.conflicts[:_PLACES])
    if places:
        rule = EndCause.CONFLICT
    for why in attempt.ejected:
        yield JudgeFinding(rule, "error", why, places)


def find_places(text: str, paths: Sequence[str]) -> tuple[FindingPlace, ...]:
    """Return the places in a text that lie in these paths, in its order, at most ten.

    A path's bare name counts if nothing names a line of it. Where there is one path, all is about it.
    """
    if not paths:
        return ()
    longest_first = "|".join(map(re.escape, sorted(paths, key=len, reverse=True)))
    named = re.compile(rf"(?<![\w./-])({longest_first})(?::([0-9]{{1,9}})(?![0-9])|(?![\w/-]))")
    places: dict[FindingPlace, None] = {}
    paths_with_lines = set()
    for match in named.finditer(text):
        path, line = match[1], int(match[2] or 0) or None
        places[path, line] = None
        if line:
            paths_with_lines.add(path)
    if not places and len(paths) == 1:
        return ((paths[0], None),)
    kept = [(path, line) for path, line in places if line or path not in paths_with_lines]
    return tuple(kept[:_PLACES])


MOST_RESULTS = 5_000
"""What GitHub shows of one log; of more, those that are excused are left out first, then those that weigh least."""
_CHARS = 2_000
_LEVELS: Sequence[sarif.SarifLevel] = ("error", "warning", "note")
_OTHER_FINDINGS = {
    "conflict": "a change that conflicts with what has landed",
    "contract": "a criterion of the run's contract that is not met",
    "missing-tests": "tests of the base that are missing or skipped, while none fails",
    "noticed": "what was noticed of a change and decided nothing",
    "red-tests": "tests that fail, are missing or skipped, and were not on the base",
    "red-together": "tests that fail together with other changes",
    "rule-broken": "a rule for changes that was broken",
    "unfinished": "an attempt that ended before it was done",
}
"""What no rule of the judge finds, in a few words."""
RULE_DESCRIPTIONS: Mapping[str, str] = {**_OTHER_FINDINGS, **{rule.value: rule.description for rule in RuleId}}


def build_run_sarif(report: RunReport, version: str) -> sarif.SarifLog:
    """Return the log of a run; `version` is this program's.

    What the plan granted, and what was found in work that is not on the branch, is there as suppressed. Findings
    whose words name no file have no location.
    """
    found = sorted(iterate_judge_findings(report), key=_rank_finding)
    kept = found[:MOST_RESULTS]
    rules = [(rule, _describe_rule(rule)) for rule in sorted({finding.rule for finding in kept})]
    run = sarif.SarifRun(
        tool=sarif.build_sarif_tool(version, rules),
        automation_details=sarif.SarifAutomation(id=f"orchestrate/{report.run}"),
        properties=sarif.SarifRunProperties(
            run=report.run,
            outcome=report.outcome,
            base=report.base,
            head=report.head,
            results_left_out=len(found) - len(kept),
        ),
        results=tuple(map(_build_result, kept)),
    )
    return sarif.SarifLog(runs=(run,))


def _rank_finding(finding: JudgeFinding) -> tuple[bool, int]:
    return bool(finding.excuse), _LEVELS.index(finding.level)


def _describe_rule(rule: str) -> str:
    if rule.startswith("review/"):
        return f"what the reviewer `{rule.removeprefix('review/')}` found wrong"
    return RULE_DESCRIPTIONS.get(rule, rule.replace("-", " "))


def _build_result(finding: JudgeFinding) -> sarif.SarifResult:
    text = strip_controls(finding.text)
    if len(text) > _CHARS:
        text = f"{text[:_CHARS]}…"
    places = tuple(sarif.build_sarif_location(*place) for place in finding.places)
    suppressions = None
    if finding.excuse:
        suppressions = (sarif.SarifSuppression(justification=finding.excuse),)
    return sarif.SarifResult(
        rule_id=finding.rule,
        level=finding.level,
        message=sarif.SarifText(text=text),
        properties=sarif.SarifResultProperties(task=finding.task, attempt=finding.attempt),
        locations=places[:1] or None,
        related_locations=places[1:] or None,
        suppressions=suppressions,
    )

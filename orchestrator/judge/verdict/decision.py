"""From evidence to verdict, as pure rules. Only green receipts can lead to merge; a lens can only take that away."""

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding, LensVote, Verdict, VerdictKind
from orchestrator.domain.run.attempt import Exit
from orchestrator.domain.run.exit_causes import CAUSE_BY_EXIT
from orchestrator.domain.run.task import EndCause
from orchestrator.judge.gate.flakiness import UNSETTLED_TESTS_TEXT

MAX_REVISIONS = 2
"""Revisions in a row before the next try starts afresh: by then the context is part of the problem."""


class VerdictEvidence(FrozenModel):
    """All that a verdict may rest on. `difference` is None when the gate did not run; `revisions` counts those just
    before this attempt without a fresh start between.
    """

    exit: Exit
    detail: str = ""
    findings: tuple[Finding, ...] = ()
    difference: Difference | None = None
    failed_checks: tuple[str, ...] = ()
    excerpt: str = ""
    receipts: tuple[str, ...] = ()
    votes: tuple[LensVote, ...] = ()
    revisions: int = 0

    @property
    def is_green(self) -> bool:
        """Whether the tests ran and nothing that the harness saw itself speaks against the candidate."""
        is_blocked = any(finding.is_blocking for finding in self.findings)
        has_passed = self.difference is not None and self.difference.is_green
        return self.exit == Exit.FINISHED and not is_blocked and has_passed and not self.failed_checks

    def with_changes(self, **changes: object) -> "VerdictEvidence":
        """The same with more known."""
        return self.model_copy(update=changes)


def decide_verdict(evidence: VerdictEvidence) -> Verdict:
    """The verdict, with reasons that a worker can act on and the name of why it is no merge."""
    kind, reasons = _decide(evidence)
    flags = tuple(finding.text for finding in evidence.findings if not finding.is_blocking)
    return Verdict(
        kind=kind,
        reasons=reasons,
        flags=flags,
        findings=evidence.findings,
        receipts=evidence.receipts,
        votes=evidence.votes,
        cause=_cause(evidence, kind),
    )


def _decide(evidence: VerdictEvidence) -> tuple[VerdictKind, tuple[str, ...]]:
    if evidence.exit != Exit.FINISHED:
        if evidence.exit == Exit.OUT_OF_BUDGET:
            kind = VerdictKind.REJECT
        else:
            kind = VerdictKind.RESTART
        return kind, (f"the attempt ended {evidence.exit}: {evidence.detail}",)
    if blocking := tuple(finding for finding in evidence.findings if finding.is_blocking):
        is_too_large = all(
            finding.rule == RuleId.SIZE for finding in blocking
        )  # else it may shrink when the rest is mended
        if is_too_large:
            kind = VerdictKind.SPLIT
        else:
            kind = _again(evidence)
        return kind, tuple(finding.text for finding in blocking)
    if evidence.difference is None:
        return VerdictKind.ESCALATE, ("the gate did not run, so nothing can be said of this candidate",)
    if not evidence.difference.is_green or evidence.failed_checks:
        return VerdictKind.ESCALATE if _is_unsettled(evidence) else _again(evidence), list_red_reasons(evidence)
    return _vetoed(evidence) or (VerdictKind.MERGE, ())


def _is_unsettled(evidence: VerdictEvidence) -> bool:
    """Whether nobody can say if the candidate is red: its tests say one thing in one run and another in the next."""
    return evidence.difference is not None and evidence.difference.is_unsettled and not evidence.failed_checks


def _again(evidence: VerdictEvidence) -> VerdictKind:
    if evidence.revisions < MAX_REVISIONS:
        return VerdictKind.REVISE
    return VerdictKind.RESTART


def _vetoed(evidence: VerdictEvidence) -> tuple[VerdictKind, tuple[str, ...]] | None:
    """The strictest of the lenses' wishes; an unreadable vote is not an approval."""
    for decision, kind in _VETOES:
        votes = []
        for vote in evidence.votes:
            if vote.decision == decision:
                votes.append(vote)
        if votes:
            return kind, tuple(f"{vote.lens}: {reason}" for vote in votes for reason in vote.reasons)
    return None


_VETOES = (
    ("reject", VerdictKind.REJECT),
    ("unreadable", VerdictKind.ESCALATE),
    ("split", VerdictKind.SPLIT),
    ("restart", VerdictKind.RESTART),
    ("revise", VerdictKind.REVISE),
)


def _cause(evidence: VerdictEvidence, kind: VerdictKind) -> EndCause | None:
    """The name of what a verdict rests on; None for a merge."""
    if kind in _CAUSES:
        return _CAUSES[kind]
    if evidence.exit != Exit.FINISHED:
        return CAUSE_BY_EXIT[evidence.exit]
    if any(finding.is_blocking for finding in evidence.findings):
        return EndCause.RULE_BROKEN
    if evidence.difference is None:
        return EndCause.NOT_TESTED
    if kind == VerdictKind.ESCALATE:  # nobody could tell: a reviewer whom nobody understood, or tests that changed
        if evidence.votes:
            return EndCause.UNREADABLE_REVIEW
        return EndCause.UNSETTLED_TESTS
    if evidence.is_green:
        return EndCause.REFUSED_BY_REVIEW
    return EndCause.RED_TESTS


_CAUSES = {VerdictKind.MERGE: None, VerdictKind.SPLIT: EndCause.TOO_LARGE}


def list_red_reasons(evidence: VerdictEvidence) -> tuple[str, ...]:
    """What is red, most telling first, each line bounded."""
    difference = evidence.difference or Difference()
    lines = [
        *(_listed("tests that fail now and did not on the base", difference.new_failures)),
        *(_listed("tests of the base that are missing now", difference.missing_tests)),
        *(_listed("tests of the base that are skipped now", difference.newly_skipped)),
        *(_listed(UNSETTLED_TESTS_TEXT, difference.unsettled)),
        *difference.problems,
        *(_listed("checks of the task that fail", evidence.failed_checks)),
    ]
    if evidence.excerpt:
        lines.append(f"The check printed:\n{evidence.excerpt}")
    return tuple(lines)


def _listed(what: str, names: tuple[str, ...], shown: int = 12) -> tuple[str, ...]:
    if not names:
        return ()
    if len(names) > shown:
        more = f" and {len(names) - shown} more"
    else:
        more = ""
    return (f"{what} ({len(names)}): {', '.join(names[:shown])}{more}",)

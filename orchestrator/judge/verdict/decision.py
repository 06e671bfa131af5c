"""From evidence to verdict, as pure rules. Only green receipts can lead to merge; a lens can only take that away."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.judging.verdict import Finding, LensVote, RuleId, Verdict, VerdictKind
from orchestrator.domain.judging.verifier_tests import VerifierFailures
from orchestrator.domain.run.grant import Grant, format_grant_advice, merge_grants
from orchestrator.domain.run.task import CAUSE_BY_EXIT, EndCause, Exit
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.gate.flakiness import UNSETTLED_TESTS_TEXT

_MAX_SHOWN = 12
MAX_REVISIONS = 2
"""Revisions in a row before the next try starts afresh: by then the context is part of the problem."""


_Decision = tuple[VerdictKind, EndCause | None, tuple[str, ...]]
"""A verdict, the cause why it is no merge, and the reasons."""


class VerdictEvidence(FrozenModel):
    """All that a verdict may rest on. `difference` is None when the gate did not run; `revisions` counts those just
    before this attempt without a fresh start between. `needed_grants` would let tests be lost as they are. `verifier`
    has what fails of the tests of a verifier. `is_provisional` tells that only selected tests ran.
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
    needed_grants: tuple[Grant, ...] = ()
    verifier: VerifierFailures = VerifierFailures()
    is_provisional: bool = False

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """The findings that keep the candidate from landing."""
        return tuple(finding for finding in self.findings if finding.is_blocking)

    @property
    def is_green(self) -> bool:
        """True if the tests ran and nothing that the harness saw itself speaks against the candidate."""
        has_passed = self.difference is not None and self.difference.is_green
        is_red = bool(self.blocking or self.failed_checks or self.verifier.tests)
        return self.exit == Exit.FINISHED and has_passed and not is_red

    @property
    def is_unsettled(self) -> bool:
        """True if nobody can say if the candidate is red: its tests say one thing in one run, another in the next."""
        return self.difference is not None and self.difference.is_unsettled and not self.failed_checks

    def with_changes(self, **changes: object) -> "VerdictEvidence":
        """Return the evidence with more known."""
        return self.model_copy(update=changes)


def decide_verdict(evidence: VerdictEvidence) -> Verdict:
    """Return the verdict, with reasons that a worker can act on and the name of why it is no merge."""
    kind, cause, reasons = _decide(evidence)
    return Verdict(
        kind=kind,
        reasons=reasons,
        flags=tuple(finding.text for finding in evidence.findings if not finding.is_blocking),
        findings=evidence.findings,
        receipts=evidence.receipts,
        votes=evidence.votes,
        cause=cause,
        needed_grants=_list_needed_grants(evidence) if cause in _CAUSES_OF_GRANTS else (),
        verifier_failures=evidence.verifier.tests,
        is_provisional=evidence.is_provisional,
    )


def _decide(evidence: VerdictEvidence) -> _Decision:
    if evidence.exit != Exit.FINISHED:
        kind = VerdictKind.REJECT if evidence.exit == Exit.OUT_OF_BUDGET else VerdictKind.RESTART
        return kind, CAUSE_BY_EXIT[evidence.exit], (f"the attempt ended {evidence.exit}: {evidence.detail}",)
    if evidence.blocking:
        reasons = tuple(finding.text for finding in evidence.blocking)
        if {finding.rule for finding in evidence.blocking} == {RuleId.SIZE}:
            return VerdictKind.SPLIT, EndCause.TOO_LARGE, reasons
        return _choose_retry(evidence), EndCause.RULE_BROKEN, reasons  # mended, it may be small enough as well
    if evidence.difference is None:
        why = "the gate did not run, so nothing can be said of this candidate"
        return VerdictKind.ESCALATE, EndCause.NOT_TESTED, (why,)
    if evidence.is_green:
        return _find_veto(evidence) or (VerdictKind.MERGE, None, ())
    if evidence.verifier.tests:
        return _choose_retry(evidence), EndCause.REFUSED_BY_VERIFIER, _list_verifier_reasons(evidence.verifier)
    if evidence.is_unsettled:
        return VerdictKind.ESCALATE, EndCause.UNSETTLED_TESTS, list_red_reasons(evidence)
    return _choose_retry(evidence), _name_red_cause(evidence), list_red_reasons(evidence)


_CAUSES_OF_GRANTS = frozenset({EndCause.RULE_BROKEN, EndCause.RED_TESTS, EndCause.MISSING_TESTS})


def _list_needed_grants(evidence: VerdictEvidence) -> tuple[Grant, ...]:
    """Return what the plan would have to grant for the candidate to land; empty where grants do not help."""
    needed = list(evidence.needed_grants)
    for finding in evidence.blocking:
        if finding.needed_grant is None:
            return ()
        needed.append(finding.needed_grant)
    return merge_grants(needed)


def _name_red_cause(evidence: VerdictEvidence) -> EndCause:
    """Return `missing-tests` where every test that ran is as green as before, and some of the base did not run."""
    difference = evidence.difference or Difference()
    is_red = difference.new_failures or difference.problems or difference.unsettled or evidence.failed_checks
    if difference.lost_tests and not is_red:
        return EndCause.MISSING_TESTS
    return EndCause.RED_TESTS


def _choose_retry(evidence: VerdictEvidence) -> VerdictKind:
    if evidence.revisions < MAX_REVISIONS:
        return VerdictKind.REVISE
    return VerdictKind.RESTART


def _find_veto(evidence: VerdictEvidence) -> _Decision | None:
    """Return the strictest of the lenses' wishes; an unreadable vote is not an approval."""
    for decision, kind, cause in _VETOES:
        votes = [vote for vote in evidence.votes if vote.decision == decision]
        if votes:
            return kind, cause, tuple(_list_reasons(votes))
    return None


def _list_reasons(votes: Sequence[LensVote]) -> Iterator[str]:
    for vote in votes:
        for reason in vote.reasons:
            yield f"{vote.lens}: {reason}"


_VETOES = (
    ("reject", VerdictKind.REJECT, EndCause.REFUSED_BY_REVIEW),
    ("unreadable", VerdictKind.ESCALATE, EndCause.UNREADABLE_REVIEW),
    ("split", VerdictKind.SPLIT, EndCause.TOO_LARGE),
    ("restart", VerdictKind.RESTART, EndCause.REFUSED_BY_REVIEW),
    ("revise", VerdictKind.REVISE, EndCause.REFUSED_BY_REVIEW),
)


def _list_verifier_reasons(failures: VerifierFailures) -> tuple[str, ...]:
    """Return the verifier's tests that fail, what they printed, and what a worker can do about one that is wrong."""
    lines = [*_list_names("tests that were written from the task alone and fail on this change", failures.tests)]
    if failures.excerpt:
        lines.append(f"They printed:\n{failures.excerpt}")
    lines.append(
        "Nobody who wrote them has seen the change. Mend what they show; if one asks for what the task does not say, "
        "contest it with the tool `contest_test`, once"
    )
    return tuple(lines)


def list_red_reasons(evidence: VerdictEvidence) -> tuple[str, ...]:
    """Return what is red, most telling first, each line bounded."""
    difference = evidence.difference or Difference()
    lines = [
        *_list_names("tests that fail now and did not on the base", difference.new_failures),
        *_list_names("tests of the base that are missing now", difference.missing_tests),
        *_list_names("tests of the base that are skipped now", difference.newly_skipped),
        *_list_names(UNSETTLED_TESTS_TEXT, difference.unsettled),
        *difference.problems,
        *_list_names("checks of the task that fail", evidence.failed_checks),
        *_list_rates(difference),
        *map(format_grant_advice, evidence.needed_grants),
    ]
    if evidence.excerpt:
        lines.append(f"The check printed:\n{evidence.excerpt}")
    return tuple(lines)


def _list_rates(difference: Difference) -> Iterator[str]:
    """Yield how often red tests fail, here and on the base, where they do not always fail or were asked of the base."""
    red = {*difference.new_failures, *difference.unsettled}
    told = [looks for looks in difference.looks if looks.test in red]
    for looks in told[:_MAX_SHOWN]:
        yield f"{looks.test} {looks.rates_text}"


def _list_names(what: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{what} ({len(names)}): {join_limited(names, _MAX_SHOWN)}"

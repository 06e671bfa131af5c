"""Asking reviewers: each lens gets its view of the candidate, and votes; the first that does not approve ends it."""

from collections.abc import Iterator

from orchestrator.config.roles import LensSettings
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.judging.check import GATE_VARIANTS, Receipt
from orchestrator.domain.judging.review import LensView
from orchestrator.domain.judging.verdict import LensVote
from orchestrator.domain.run.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.lens_views import read_lens_view
from orchestrator.judge.rules.registry import PROMPT_INJECTION_RULES
from orchestrator.judge.verdict.decision import VerdictEvidence
from orchestrator.ports.roles import CheckSummary, ReviewBrief, Roles


async def collect_lens_votes(
    context: RunContext, roles: Roles, state: TaskState, candidate: CandidateTaken, evidence: VerdictEvidence
) -> tuple[LensVote, ...]:
    """Return the votes of the lenses on a candidate that no receipt speaks against, in the order of asking."""
    votes: list[LensVote] = []
    for name, lens in context.config.roles.judge.active_lenses.items():
        if _is_lens_due(lens, evidence):
            votes.append(
                await roles.judge.review_change(
                    await _build_brief(context, name, lens.view, state, candidate, evidence)
                )
            )
            if votes[-1].decision != "approve":
                break
    return tuple(votes)


def _is_lens_due(lens: LensSettings, evidence: VerdictEvidence) -> bool:
    return lens.when == "always" or any(finding.rule in PROMPT_INJECTION_RULES for finding in evidence.findings)


async def _build_brief(
    context: RunContext,
    name: str,
    view: LensView,
    state: TaskState,
    candidate: CandidateTaken,
    evidence: VerdictEvidence,
) -> ReviewBrief:
    return ReviewBrief(
        task=state.spec,
        number=candidate.number,
        lens=name,
        view=view,
        shown=await read_lens_view(context, view, state.attempts[-1].base, candidate.commit),
        checks=tuple(map(summarize_receipt, _iterate_own_receipts(context, evidence))),
        notes=tuple(finding.text for finding in evidence.findings),
    )


def _iterate_own_receipts(context: RunContext, evidence: VerdictEvidence) -> Iterator[Receipt]:
    """Return the receipts that say how the change's own tests end; what was run beside them would only confuse."""
    for receipt in context.list_receipts(evidence.receipts):
        if receipt.kind not in GATE_VARIANTS:
            yield receipt


def summarize_receipt(receipt: Receipt) -> CheckSummary:
    """Return a receipt in words."""
    counts = receipt.counts
    if receipt.tests is not None:
        result_text = (
            f"{counts.passed} passed, {counts.failed} failed, {counts.errors} errors, {counts.skipped} skipped"
        )
    else:
        result_text = f"exit code {receipt.exit_code}"
    return CheckSummary(
        id=receipt.kind, check=receipt.command, result=f"{result_text} ({receipt.seconds:.1f} s)", receipt=receipt.key
    )

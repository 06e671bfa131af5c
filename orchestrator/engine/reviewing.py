"""Asking reviewers: each lens gets its view of the candidate, and votes."""

from collections.abc import Iterator

from orchestrator.domain.check import BESIDE_THE_GATE, Receipt
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.state import TaskState
from orchestrator.domain.verdict import LensVote
from orchestrator.engine.context import RunContext
from orchestrator.judge.addressed import made_visible
from orchestrator.judge.verdict import Evidence
from orchestrator.ports.roles import CheckSummary, ReviewBrief, Roles
from worktrees.diff import diff_text

_DIFF_CHARS = 200_000
_CUT_CHARS = 20_000


async def reviewed(
    context: RunContext, roles: Roles, state: TaskState, candidate: CandidateTaken, evidence: Evidence
) -> tuple[LensVote, ...]:
    """The votes of the lenses on a candidate that no receipt speaks against."""
    return (await _vote(context, roles, state, candidate, evidence),)


async def _vote(
    context: RunContext, roles: Roles, state: TaskState, candidate: CandidateTaken, evidence: Evidence
) -> LensVote:
    base = state.attempts[-1].base
    text = made_visible(await diff_text(context.repository.git, base, candidate.commit))
    if len(text) > _DIFF_CHARS:
        shown = context.journal.redact(text[: _DIFF_CHARS + _CUT_CHARS])[:_DIFF_CHARS]  # before it could be cut in two
        text = f"{shown}\n[{len(text) - _DIFF_CHARS} more characters of diff are not shown]"
    return await roles.judge.review(
        ReviewBrief(
            task=state.spec,
            number=candidate.number,
            diff=text,
            checks=tuple(map(summarise, _of_the_change(context, evidence))),
            notes=tuple(finding.text for finding in evidence.findings),
        )
    )


def _of_the_change(context: RunContext, evidence: Evidence) -> Iterator[Receipt]:
    """The receipts that say how the change's own tests end; what was run beside them would only confuse."""
    receipts = (context.state.receipts[key] for key in evidence.receipts)
    return (receipt for receipt in receipts if receipt.kind not in BESIDE_THE_GATE)


def summarise(receipt: Receipt) -> CheckSummary:
    """A receipt in words."""
    counts = receipt.counts
    told = (
        f"{counts.passed} passed, {counts.failed} failed, {counts.errors} errors, {counts.skipped} skipped"
        if receipt.tests is not None
        else f"exit code {receipt.exit_code}"
    )
    return CheckSummary(check=receipt.command, result=f"{told} ({receipt.seconds:.1f} s)", receipt=receipt.key)

"""The contract as models and as lines: each criterion, its verdict, and the evidence."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.run.criterion_status import CriterionStatus, list_criterion_statuses
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import add_lead
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.run.model import CriterionResult
from orchestrator.report.task.receipt import quote_text

_CHARS = 300


def build_contract(state: RunState) -> tuple[CriterionResult, ...]:
    """Return each criterion with what the newest verdict says of it."""
    return tuple(map(_build_criterion, list_criterion_statuses(state)))


def _build_criterion(status: CriterionStatus) -> CriterionResult:
    criterion, finding = status.criterion, status.finding
    return CriterionResult(
        **dict(criterion),
        met=finding.met if finding else None,
        evidence=finding.evidence if finding else "",
        receipt=finding.receipt if finding else "",
        exit_on_base=_get_exit_code(status.before),
        exit=_get_exit_code(status.after) if criterion.command else None,
    )


def iterate_contract_receipts(state: RunState) -> Iterator[str]:
    """Yield the keys of the receipts that the verdicts on the contract rest on, the oldest first."""
    for given in state.goal.iterations:
        for finding in given.findings:
            if finding.receipt:
                yield finding.receipt


def render_iteration_lines(state: RunState) -> Iterator[str]:
    """Yield each verdict on the contract with its reasons, then what the newest one says of each criterion."""
    for number, given in enumerate(state.goal.iterations, start=1):
        yield f"iteration {number}: {given.decision}"
        for reason in given.reasons:
            yield f"  {quote_text(reason)}"
    yield from render_contract_lines(build_contract(state))


def _get_exit_code(receipt: Receipt | None) -> int | None:
    if receipt:
        return receipt.exit_code
    return None


def render_contract_lines(criteria: Sequence[CriterionResult], only_unmet: bool = False) -> Iterator[str]:
    """Yield a line that counts the criteria that are met, then a line for each."""
    if not criteria:
        return
    if all(criterion.met is None for criterion in criteria):
        yield f"contract: {len(criteria)} criteria"
    else:
        yield f"contract: {sum(bool(criterion.met) for criterion in criteria)} of {len(criteria)} criteria met"
    for criterion in criteria:
        if not (only_unmet and criterion.met):
            yield _render_criterion(criterion)


def _render_criterion(criterion: CriterionResult) -> str:
    evidence = add_lead(" – ", to_one_line(criterion.evidence, _CHARS))
    return f"  {criterion.mark} {criterion.id}: {to_one_line(criterion.text, _CHARS)}{evidence}"

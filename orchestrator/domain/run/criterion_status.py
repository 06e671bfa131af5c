"""The status of a run's criteria: the newest finding on each, and the receipts of its command."""

from dataclasses import dataclass

from orchestrator.domain.judging.check import Receipt, ReceiptStatus
from orchestrator.domain.run.contract import GATE_CRITERION, Criterion, CriterionFinding
from orchestrator.domain.run.state import RunState


@dataclass(frozen=True)
class CriterionStatus:
    """One criterion. `finding` is the one of the newest verdict, None before the first; `before` and `after` are the
    receipts of its command on the base and where the verdict was given.
    """

    criterion: Criterion
    finding: CriterionFinding | None = None
    before: Receipt | None = None
    after: Receipt | None = None

    @property
    def label(self) -> str:
        """The status in words: `met`, `not met`, or that there is no verdict yet."""
        if self.finding is None:
            return "not judged yet"
        if self.finding.met:
            return "met"
        return "not met"

    @property
    def was_met_on_base(self) -> bool:
        """True if its command was green on the base."""
        return self.before is not None and self.before.status == ReceiptStatus.COMPLETED and self.before.exit_code == 0


def list_criterion_statuses(state: RunState) -> tuple[CriterionStatus, ...]:
    """Return the status of every criterion; none for a migration, or before the contract is frozen."""
    criteria = state.goal.contract.criteria if state.goal.contract else ()
    newest = state.goal.iterations[-1].findings if state.goal.iterations else ()
    finding_by_id = {finding.id: finding for finding in newest}
    return tuple(_build_status(state, criterion, finding_by_id.get(criterion.id)) for criterion in criteria)


def _build_status(state: RunState, criterion: Criterion, finding: CriterionFinding | None) -> CriterionStatus:
    after = state.receipts.get(finding.receipt) if finding else None
    return CriterionStatus(criterion, finding, _find_base_receipt(state, criterion), after)


def _find_base_receipt(state: RunState, criterion: Criterion) -> Receipt | None:
    if not criterion.command or criterion.id == GATE_CRITERION:
        return None
    identity = (criterion.check, criterion.command, state.run.base_tree)
    receipts = reversed(state.receipts.values())
    return next((receipt for receipt in receipts if (receipt.kind, receipt.command, receipt.tree) == identity), None)

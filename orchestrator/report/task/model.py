"""JSON models of one task, or one file of a migration."""

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.judging.check import Difference, Receipt
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.run.contract import IterationVerdict
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.sandbox.policy_violation import PolicyViolation
from orchestrator.report.read_model import Document, ReadModel
from orchestrator.report.run.model import CriterionResult


class ReceiptDetails(Receipt, ReadModel):
    """A receipt with its `purpose`, its `difference` to the base and how to run it `again`.

    The difference is None without tests on both sides, the command is None for canaries.
    """

    purpose: str
    difference: Difference | None
    again: str | None


class TaskDetails(Document, schema="orchestrate.task/1"):
    """The output of `show` for a task: everything that happened to it.

    Only the root has a `contract` and the verdicts on it (`iterations`).
    """

    task: TaskState
    contract: tuple[CriterionResult, ...]
    iterations: tuple[IterationVerdict, ...]
    receipts: tuple[ReceiptDetails, ...]
    attempted: tuple[PolicyViolation, ...]
    spent: Usage | None


class FileEvidence(Document, schema="orchestrate.file/1"):
    """The output of `show` for a file of a migration, with the evidence of its last ejection."""

    file: FileRecord
    difference: Difference | None
    receipts: tuple[ReceiptDetails, ...]

"""JSON models of what the verbs of `policy` print."""

from orchestrator.report.read_model import Document, ReadModel


class PolicyFileRow(ReadModel):
    """A policy file: whose it is (`user` or `project`), where it lies, and how many rules it has."""

    origin: str
    file: str
    rules: int
    default: str


class PolicyRemarkRow(ReadModel):
    """A rule that does nothing; `place` is FILE:LINE."""

    place: str
    text: str


class PolicyCheckDocument(Document, schema="orchestrate.policy-check/1"):
    """The output of `policy check`: the files in force, and the rules in them that do nothing."""

    files: tuple[PolicyFileRow, ...]
    remarks: tuple[PolicyRemarkRow, ...]


class PolicyDecisionRow(ReadModel):
    """The decision on one subject.

    `place` is FILE:LINE of the rule that decides, or of the default (`is_default`); empty without any file.
    `otherwise` is the effect that would count without that rule.
    """

    kind: str
    name: str
    path: str
    effect: str
    place: str
    reason: str
    is_default: bool
    otherwise: str


class PolicyExplainDocument(Document, schema="orchestrate.policy-explain/1"):
    """The output of `policy explain`: the strictest effect, and the decision on each thing that the call does."""

    role: str
    variant: str
    effect: str
    decisions: tuple[PolicyDecisionRow, ...]

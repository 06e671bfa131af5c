"""The JSON models of what `doctor` prints."""

from orchestrator.report.read_model import Document, ReadModel


class RequirementCheck(ReadModel):
    """One thing that a run needs."""

    name: str
    ok: bool
    warning: bool
    detail: str


class DoctorDocument(Document, schema="orchestrate.doctor/1"):
    """The output of `doctor`."""

    ok: bool
    findings: tuple[RequirementCheck, ...]

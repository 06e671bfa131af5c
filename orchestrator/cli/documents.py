"""JSON models of what verbs print of what they did themselves."""

from typing import Literal

from pydantic import Field

from orchestrator.report.read_model import Document, ReadModel


class ExportDocument(Document):
    """The output of `run export`; `bytes` is the size of the archive."""

    schema_name: Literal["orchestrate.export/1"] = Field(default="orchestrate.export/1", alias="schema")
    run: str
    place: str
    bytes: int
    events: int
    is_ended: bool
    base: str
    prerequisites: tuple[str, ...]
    missing: tuple[str, ...]


class ImportDocument(Document):
    """The output of `run import`.

    `settings` are those that are not the reader's own, `replaced` those of which the reader's count, `absent` paths
    that this machine lacks.
    """

    schema_name: Literal["orchestrate.import/1"] = Field(default="orchestrate.import/1", alias="schema")
    run: str
    how: str
    events: int
    is_ended: bool
    pr_branch: str
    head: str | None
    refs: tuple[str, ...]
    missing: tuple[str, ...]
    journal: str
    settings: tuple[str, ...]
    absent: tuple[str, ...]
    replaced: tuple[str, ...]


class CommandDocument(Document):
    """The output of a verb that tells a run something; `refused` is the reason, empty if the command was taken."""

    schema_name: Literal["orchestrate.command/1"] = Field(default="orchestrate.command/1", alias="schema")
    run: str
    key: str
    do: str
    taken: bool
    refused: str | None


class RequirementCheck(ReadModel):
    """One thing that a run needs."""

    name: str
    ok: bool
    warning: bool
    detail: str


class DoctorDocument(Document):
    """The output of `doctor`."""

    schema_name: Literal["orchestrate.doctor/1"] = Field(default="orchestrate.doctor/1", alias="schema")
    ok: bool
    findings: tuple[RequirementCheck, ...]

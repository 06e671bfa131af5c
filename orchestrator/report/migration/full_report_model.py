"""The read models of the report of a migration: `orchestrate.migration-report/1`."""

from typing import Literal

from pydantic import Field

from orchestrator.domain.migration.files import FileStatus
from orchestrator.report.migration.burndown_model import BurndownFields
from orchestrator.report.read_model import Omittable, ReadModel
from orchestrator.report.run.model import FlakyTest, GateComparison


class ReportedFile(ReadModel):
    """A file that has something to do; `commit` is the one of its shard if it landed."""

    path: str
    status: FileStatus
    owner: str
    shard: str
    step: str
    attempt: int
    sites: int
    sites_left: int
    reason: str
    signature: str
    flags: tuple[str, ...]
    commit: str
    seconds: float


class ReportedInvariant(ReadModel):
    """An invariant of the recipe, with the keys that it was written with."""

    kind: str
    site: Omittable[str] = None
    max: Omittable[int] = None
    min: Omittable[int] = None
    pattern: Omittable[str] = None
    paths: Omittable[tuple[str, ...]] = None
    lines: Omittable[int] = None
    run: Omittable[str] = None
    timeout_s: Omittable[float] = None
    level: Omittable[str] = None

    @property
    def details(self) -> str:
        """Its keys but the kind, in words."""
        return ", ".join(f"{name} = {value}" for name, value in self.list_details())

    def list_details(self) -> list[tuple[str, str]]:
        """Return each of its keys but the kind, with its value in words."""
        return [(name, str(value)) for name, value in self.as_object().items() if name != "kind"]


class MigrationReport(BurndownFields):
    """The burndown in full, with what the run says of itself, the recipe's invariants as written, and every file."""

    schema_name: Literal["orchestrate.migration-report/1"] = Field(
        default="orchestrate.migration-report/1", alias="schema"
    )
    outcome: str
    reason: str
    base: str
    pr_branch: str
    head: str | None
    unsafe: bool
    notices: tuple[str, ...]
    flaky: tuple[FlakyTest, ...]
    gate: GateComparison
    started_at: str
    invariants: tuple[ReportedInvariant, ...]
    files: tuple[ReportedFile, ...]

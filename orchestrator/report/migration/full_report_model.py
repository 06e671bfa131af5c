"""The read models of the report of a migration: `orchestrate.migration-report/1`."""

from typing import Any

from pydantic import Field

from orchestrator.domain.judging.check import TestCounts
from orchestrator.domain.migration.files import FileStatus
from orchestrator.report.migration.burndown_model import Burndown
from orchestrator.report.read_model import ReadModel


class FlakyTest(ReadModel):
    """A test that passed and failed on one tree, with the number of trees where that was seen."""

    test: str
    seen: int


class RejectedUnion(ReadModel):
    """The first union that the gate refused: its units, and how many tests it would have lost."""

    units: int
    new_failures: int
    missing_tests: int


class GateSummary(ReadModel):
    """The gate on the base and on the head; the tests are those that the head lost."""

    command: str
    baseline: TestCounts | None
    head: TestCounts | None
    new_failures: tuple[str, ...]
    missing_tests: tuple[str, ...]
    rejected_union: RejectedUnion | None


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


class MigrationReport(Burndown):
    """The burndown in full, with what the run says of itself, the recipe's invariants as written, and every file."""

    schema_name: str = Field("orchestrate.migration-report/1", alias="schema")
    outcome: str
    reason: str
    base: str
    pr_branch: str
    head: str | None
    unsafe: bool
    notices: tuple[str, ...]
    flaky: tuple[FlakyTest, ...]
    gate: GateSummary
    started_at: str
    invariants: tuple[dict[str, Any], ...]
    files: tuple[ReportedFile, ...]

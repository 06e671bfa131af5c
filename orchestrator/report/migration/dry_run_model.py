"""The read models of a dry run: `orchestrate.dry-run/1`."""

from typing import Literal

from orchestrator.domain.migration.files import SitePlace
from orchestrator.report.read_model import Document, ReadModel

DryRunFileStatus = Literal["changed", "unchanged", "restored", "skipped", "not-tried", "nothing-to-do"]


class FileAndSiteCount(ReadModel):
    """A number of files, and of their sites."""

    files: int
    sites: int


class DryRunStep(ReadModel):
    """A step; `not_tried` is the reason why it was not, or empty. The numbers are of files.

    `restored` were put back by the step's own harness, `refused` afterwards by a rule. `cached` are results of earlier
    runs.
    """

    id: str
    kind: str
    when: str
    not_tried: str
    files: int
    changed: int
    unchanged: int
    restored: int
    refused: int
    cached: int
    seconds: float


class DryRunShard(ReadModel):
    """A shard; `added` and `removed` are lines."""

    name: str
    owner: str
    files: int
    sites: int
    changed: int
    added: int
    removed: int


class DryRunFile(ReadModel):
    """A file; `left` are the sites that would remain in it, `added` and `removed` are lines."""

    path: str
    status: DryRunFileStatus
    shard: str
    owner: str
    step: str
    sites: int
    left: tuple[SitePlace, ...]
    added: int
    removed: int
    reason: str
    signature: str


class DryRunSignature(ReadModel):
    """The number of files that were put back for the same reason."""

    signature: str
    files: int


class DryRunGate(ReadModel):
    """The gate's verdict on all changes together: the names of tests, and problems in words."""

    green: bool
    new_failures: tuple[str, ...]
    missing_tests: tuple[str, ...]
    newly_skipped: tuple[str, ...]
    fixed: tuple[str, ...]
    problems: tuple[str, ...]
    unsettled: tuple[str, ...]


class DryRunReport(Document, schema="orchestrate.dry-run/1"):
    """The result of a dry run. `exit` is the exit code; `remaining` is None where the recipe counts no sites."""

    migration: str
    title: str
    revision: str
    base: str
    exit: int
    unsafe: bool
    found: FileAndSiteCount
    tried: FileAndSiteCount
    changed: int
    added: int
    removed: int
    remaining: int | None
    steps: tuple[DryRunStep, ...]
    shards: tuple[DryRunShard, ...]
    files: tuple[DryRunFile, ...]
    alike: tuple[DryRunSignature, ...]
    gate: DryRunGate | None
    notices: tuple[str, ...]
    diff: str | None

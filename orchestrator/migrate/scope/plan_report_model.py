"""JSON models of the plan of a migration: `orchestrate.inventory/2`."""

from orchestrator.domain.migration.files import SitePlace
from orchestrator.report.migration.full_report import ReportedInvariant
from orchestrator.report.read_model import Document, ReadModel


class InventoryFile(ReadModel):
    """A file in scope, with all its sites."""

    path: str
    sites: int
    weight: float
    owner: str
    places: tuple[SitePlace, ...]


class SiteKindCount(ReadModel):
    """A kind of site: in how many files it is, and how often."""

    site: str
    files: int
    sites: int


class OwnerCount(ReadModel):
    """The files of an owner that have something to do."""

    owner: str
    files: int
    sites: int


class DirectoryCount(ReadModel):
    """The files of a directory that have something to do."""

    directory: str
    files: int
    sites: int


class PlannedShard(ReadModel):
    """Files that land as one commit."""

    name: str
    owner: str
    files: tuple[str, ...]


class PlannedStep(ReadModel):
    """A step of the ladder, and the files that it takes."""

    id: str
    kind: str
    when: str


class PlannedCheck(ReadModel):
    """A check, and when it is run."""

    id: str
    level: str
    run: str


class InventoryDocument(Document, schema="orchestrate.inventory/2"):
    """The output of `migrate plan`: what is in scope, how it is divided, and how it would be changed and tested."""

    migration: str
    revision: str
    base: str
    sites: int
    weight: float
    files: tuple[InventoryFile, ...]
    by_site: tuple[SiteKindCount, ...]
    by_owner: tuple[OwnerCount, ...]
    by_directory: tuple[DirectoryCount, ...]
    sample: tuple[str, ...]
    shards: tuple[PlannedShard, ...]
    waves: tuple[int, ...]
    steps: tuple[PlannedStep, ...]
    checks: tuple[PlannedCheck, ...]
    invariants: tuple[ReportedInvariant, ...]
    notices: tuple[str, ...]

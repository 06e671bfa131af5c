"""The read models of a burndown: `orchestrate.burndown/1`."""

from typing import ClassVar, Literal

from orchestrator.domain.migration.file_counts import FileCounts
from orchestrator.domain.migration.files import FileStatus, ShardStatus, Tick
from orchestrator.domain.text.money import format_cost
from orchestrator.report.cost.model import Amount
from orchestrator.report.read_model import Document, ReadModel
from orchestrator.report.rows.row_filter import FilteredByAttributes

GroupKind = Literal["owner", "dir", "rung", "reason", "shard"]


class RevisionSummary(ReadModel):
    """A revision of the recipe: its hash, who revised it, and how many files were done again."""

    revision: str
    by: str
    files: int


class MigrationProgress(ReadModel):
    """Weights of sites, and numbers of files, as far as there are any; `open` is the weight of what is under way."""

    found: float
    remaining: float
    target: float
    open: float
    sites: dict[FileStatus, float]
    files: dict[FileStatus, int]
    in_scope: int


class CurvePoint(ReadModel):
    """A point of the ideal line; `at` is in seconds since the inventory."""

    at: float
    sites: float


class EtaSummary(ReadModel):
    """Seconds of work until everything under way has landed, with a range, and the rate they rest on."""

    seconds: float
    low_s: float
    high_s: float
    sites_per_hour: float


class GroupSummary(ReadModel):
    """Files of one owner, directory, step, reason or shard.

    `share` is the part of them that has landed, `sites` and `sites_left` are weighted, `p50_s` is the median of seconds
    a file took, None if none took any. `usd` is what model calls for them cost, as far as it is known; `unpriced`
    counts the calls of which it is not.
    """

    name: str
    files: int
    done: int
    share: float
    rejected: int
    skipped: int
    sites: float
    sites_left: float
    prs: int
    p50_s: float | None
    usd: float
    unpriced: int = 0
    top_reason: str

    @property
    def price(self) -> str:
        """The cost in words."""
        return format_cost(self.usd, is_whole=not self.unpriced)

    @property
    def landed_text(self) -> str:
        """The number of files that have landed, of all and in per cent."""
        return f"{self.done}/{self.files} ({self.share * 100:.0f} %)"


class GroupsDocument(Document, schema="orchestrate.migration-groups/1"):
    """The output of `migrate status --by`: all groups of one kind, those with most left first."""

    run: str
    by: GroupKind
    groups: tuple[GroupSummary, ...]


class SignatureSummary(FilteredByAttributes, ReadModel):
    """Files that failed alike: the weight of their remaining sites, the steps that failed on them, some paths."""

    FILTER_FIELDS: ClassVar = {"reason": "signature", "files": "files", "left": "sites", "step": "steps"}

    signature: str
    files: int
    sites: float
    steps: tuple[str, ...]
    examples: tuple[str, ...]


SIGNATURE_KEYS = tuple(SignatureSummary.FILTER_FIELDS)
"""The fields that filters of equal failures can name."""


class StepProgress(ReadModel):
    """A step of the ladder: how many files it was tried on and brought through, at the first try or later."""

    step: str
    kind: str
    tried: int
    landed: int
    first_try: int
    later_try: int
    seconds: float


class FlagSummary(ReadModel):
    """Files that a reviewer should look at for one reason."""

    flag: str
    files: int
    examples: tuple[str, ...]


class MigrationSpending(Amount):
    """The cost of a run so far; `wall_s` is in seconds."""

    wall_s: float
    test_runs: int


class OpenQuestion(ReadModel):
    """A question that waits for a person."""

    item: str
    matter: str
    title: str


class BurndownPullRequest(ReadModel):
    """The pull request of a group of shards."""

    group: str
    ref: str
    url: str


class BurndownFields(Document):
    """The state of a migration. `unit` is what `sites` count: files, where the recipe counts no sites.

    `series` are the points of the curve, `ideal` two points of a straight line to the deadline in the same measure.
    `shards` counts those of each status. `next` is a command with what it does, or empty.
    """

    run: str
    title: str
    revision: int
    revisions: tuple[RevisionSummary, ...]
    unit: Literal["sites", "files"]
    now: MigrationProgress
    series: tuple[Tick, ...]
    ideal: tuple[CurvePoint, CurvePoint] | None
    eta: EtaSummary | None
    owners: tuple[GroupSummary, ...]
    directories: tuple[GroupSummary, ...]
    signatures: tuple[SignatureSummary, ...]
    rungs: tuple[StepProgress, ...]
    flags: tuple[FlagSummary, ...]
    shards: dict[ShardStatus, int]
    spent: MigrationSpending
    waiting: tuple[OpenQuestion, ...]
    prs: tuple[BurndownPullRequest, ...]
    next: str

    @property
    def has_owners(self) -> bool:
        """Return True if anybody owns a file."""
        return any(group.name != NO_GROUP for group in self.owners)

    @property
    def merged_files(self) -> int:
        """The number of files that have landed."""
        return FileCounts(self.now.files).landed

    @property
    def concerned_files(self) -> int:
        """The number of files that have something to do."""
        return FileCounts(self.now.files).concerned


class Burndown(BurndownFields, schema="orchestrate.burndown/1"):
    """The part of the status of a migration that tells where it stands."""


NO_GROUP = "-"
"""The name of the group of files that have no owner, no shard, no reason, …"""

"""Files on their way through a migration's ladder, and the shards in which they land."""

from collections.abc import Iterable
from enum import StrEnum

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId


class FileStatus(StrEnum):
    """The status of a file of a migration.

    restored: a step left it unparsable, timed out or failed, and its bytes were put back.
    ejected: the queue's search named it as guilty of a red gate; the next rung may still save it.
    rejected: a change was made to it and could not land.
    unchanged: no step could make a change, although it has sites or a step failed on it.
    needs-human: every rung failed, and the last one of the recipe is a person.
    skipped: a person left it out. reverted: it had landed, and was rolled back.
    """

    DISCOVERED = "discovered"
    TRANSFORMED = "transformed"
    RESTORED = "restored"
    EJECTED = "ejected"
    MERGED = "merged"
    NOTHING_TO_DO = "nothing-to-do"
    REJECTED = "rejected"
    UNCHANGED = "unchanged"
    NEEDS_HUMAN = "needs-human"
    SKIPPED = "skipped"
    REVERTED = "reverted"

    @property
    def word(self) -> str:
        """The word that people read for it; JSON, CSV and journals have its value."""
        return _WORDS.get(self, self.value)

    @property
    def is_terminal(self) -> bool:
        """True if nothing more will happen to the file by itself."""
        return self not in _UNDER_WAY

    @property
    def is_failed(self) -> bool:
        """True if a rung failed on the file, so that the next one for failed files may take it."""
        return self in {FileStatus.RESTORED, FileStatus.EJECTED}

    @property
    def is_left_over(self) -> bool:
        """True if the ladder ended without the file having landed, although it should have."""
        return self in {FileStatus.REJECTED, FileStatus.UNCHANGED, FileStatus.NEEDS_HUMAN, FileStatus.REVERTED}


_WORDS = {
    FileStatus.DISCOVERED: "to do",
    FileStatus.TRANSFORMED: "landing",
    FileStatus.NOTHING_TO_DO: "nothing to do",
    FileStatus.REVERTED: "rolled back",
    FileStatus.NEEDS_HUMAN: "left to a person",
}
_UNDER_WAY = {FileStatus.DISCOVERED, FileStatus.TRANSFORMED, FileStatus.RESTORED, FileStatus.EJECTED}


class SitePlace(FrozenModel):
    """One site: which kind, and where its match begins. Lines and columns count from 1."""

    site: str
    line: int
    column: int = 1


class FailureKind(StrEnum):
    """The kind of failure of a file."""

    COMMAND = "command"
    CONTENT = "content"
    PARSE = "parse"
    SECRET = "secret"
    REPEATS = "repeats"
    RULE = "rule"
    ATTEMPT = "attempt"
    QUEUE = "queue"


class ScopeFile(FrozenModel):
    """A file in scope: its mode on the base tree, the sites found in it and their weight, who owns it."""

    path: str
    mode: str
    sites: int = 0
    places: tuple[SitePlace, ...] = ()
    weight: float = 0.0
    owner: str = ""


class FileRecord(ScopeFile):
    """One file: `base` and `blob` are the git blobs before and after, `rung` the last step that was tried on it.

    `attempt` counts the tries of that rung. `tried` is the last content that was made of it and did not stand.
    `reason` says in words why it was restored, ejected or rejected; `signature` is the same with what varies taken
    out, so that files that failed alike can be counted together. `places` are its sites on the base, `left` how many
    the content that stands has, as far as that was counted. `landed` is the content that stands on the PR branch, if
    it is not the base's. `flags` say what a reviewer should know of its change. `note` is what a person who had it
    tried again wants known. `is_overtaken` tells that a person left it out while it was under way: what a step or a
    landing that had begun still tells of it is no defect, and if it has landed after all, it has. `after_wave` is the
    wave in which a person had it tried again: it begins with the next one, as it missed steps of this one.
    `is_asked_for` tells that a person had it tried again and nothing has come of that yet.
    """

    path: str
    base: str
    status: FileStatus = FileStatus.DISCOVERED
    rung: int = -1
    attempt: int = 0
    blob: str | None = None
    tried: str | None = None
    reason: str = ""
    signature: str = ""
    failure: FailureKind | None = None
    left: int | None = None
    landed: str | None = None
    seconds: float = 0.0
    flags: tuple[str, ...] = ()
    note: str = ""
    is_overtaken: bool = False
    after_wave: int = 0
    is_asked_for: bool = False

    @property
    def is_pending(self) -> bool:
        """True if the file still has to change or land: it failed, has a change to land, or begins anew."""
        if self.has_failed:
            return True
        is_changed = self.status == FileStatus.TRANSFORMED and self.blob not in {None, self.branch_blob}
        return is_changed or (self.status == FileStatus.DISCOVERED and self.rung < 0)

    @property
    def has_failed(self) -> bool:
        """True if it failed: for good, or until the next step takes it. What was rolled back had not failed."""
        return self.status.is_failed or (self.status.is_left_over and self.status != FileStatus.REVERTED)

    @property
    def branch_blob(self) -> str:
        """The blob on the PR branch."""
        return self.landed or self.base

    @property
    def remaining_sites(self) -> int:
        """The number of sites that the file has on the PR branch."""
        if self.status == FileStatus.MERGED:
            return self.left or 0
        return self.sites


class ShardStatus(StrEnum):
    """The status of a shard; computed from its files."""

    OPEN = "open"
    RUNNING = "running"
    MERGED = "merged"
    FAILED = "failed"
    HELD = "held"
    REVERTED = "reverted"
    EMPTY = "empty"


class Shard(FrozenModel):
    """Files that land as one commit. What of a shard does not land with it forms the next one, `<name>.r1` and so on.

    `held` says who keeps it back and why. `commit` is the one it landed as. `after_wave` is the wave in which a person
    released it: it goes on with the next one, as it missed steps of this one.
    """

    name: str
    files: tuple[str, ...]
    owner: str = ""
    held: str = ""
    commit: CommitId | None = None
    is_reverted: bool = False
    after_wave: int = 0

    def compute_status(self, files: Iterable[FileRecord]) -> ShardStatus:
        """Return the shard's status, from its files' records."""
        statuses = {file.status for file in files}
        if self.is_reverted:
            return ShardStatus.REVERTED
        if self.commit is not None:
            return ShardStatus.MERGED
        if self.held:
            return ShardStatus.HELD
        if statuses <= {FileStatus.NOTHING_TO_DO, FileStatus.SKIPPED}:
            return ShardStatus.EMPTY
        if all(status.is_terminal for status in statuses):
            return ShardStatus.FAILED
        if statuses <= {FileStatus.DISCOVERED}:
            return ShardStatus.OPEN
        return ShardStatus.RUNNING


def build_next_shard_name(name: str) -> str:
    """Return `core.r1` for `core`, `core.r2` for `core.r1`."""
    stem, dot, number = name.rpartition(".r")
    return f"{stem}.r{int(number) + 1}" if dot and number.isdigit() else f"{name}.r1"


class Wave(FrozenModel):
    """Shards that go up the ladder together; the first one may be the sample."""

    number: int
    kind: str
    shards: tuple[str, ...]
    is_over: bool = False


class Tick(FrozenModel):
    """One point of the burndown: what remained then. `at` is in seconds since the inventory; `mark` says what happened.

    `worked` is in seconds that processes had worked on the run by then, so that a pause takes none. `sites` are
    weighted; where the recipe counts none, each file stands for one. `files` counts by status.
    """

    at: float
    worked: float = 0.0
    sites: float
    files: dict[str, int] = Field(default_factory=dict)
    spent_usd: float = 0.0
    mark: str = ""

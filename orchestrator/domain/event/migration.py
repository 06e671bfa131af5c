"""Events of a migration: files found, steps run, files moved along the ladder."""

from typing import Any, Literal

from pydantic import Field

from orchestrator.domain.event.base import Done, Event, Intent
from orchestrator.domain.migration.files import FailureKind, FileRecord, FileStatus, ScopeFile, Shard


class FoundFile(ScopeFile):
    """A file in scope with its git blob on the base tree."""

    blob: str

    def build_record(self) -> FileRecord:
        """Return the record of the file at the start of the migration."""
        return FileRecord(base=self.blob, **{name: value for name, value in self if name != "blob"})


class FilesFound(Event, kind="files.found"):
    """The inventory. Files without a site have nothing to do when the recipe counts sites."""

    files: tuple[FoundFile, ...]


class StepStarted(Intent, kind="step.started"):
    """A step of the ladder is about to run over `files` files."""

    step: str
    rung: int
    files: int


class StepFinished(Done, kind="step.finished"):
    """A step of the ladder has been tried on all its files."""

    step: str
    changed: int
    unchanged: int
    restored: int
    seconds: float


class ShardsPlanned(Event, kind="shards.planned"):
    """Files are divided anew: each shard here takes its files out of those that had them, and follows them in order."""

    shards: tuple[Shard, ...]


class WaveStarted(Event, kind="wave.started"):
    """Shards begin to climb together: `sample`, `sweep`, or `again` after a person had them tried again."""

    number: int
    wave: Literal["sample", "sweep", "again"]
    shards: tuple[str, ...]


class WaveEnded(Event, kind="wave.ended"):
    """Every file of the wave has its end."""

    number: int


class RecipeRevised(Event, kind="recipe.revised"):
    """From now on the run follows another recipe; the files of `redo` climb its ladder from the first rung."""

    recipe: dict[str, Any]
    revision: str
    redo: tuple[str, ...]
    by: str = ""


class ShardReverted(Event, kind="shard.reverted"):
    """The changes of a shard are taken back on the PR branch by `commit`, which passed the gate.

    `stands` are the blobs that its files have there now; those of the base, unless others changed them as well.
    """

    shard: str
    commit: str
    reason: str = ""
    stands: dict[str, str] = Field(default_factory=dict)


class RollbackRefused(Event, kind="rollback.refused"):
    """A shard stays: without it the rest would lose `tests`, or `paths` were changed again since it landed."""

    shard: str
    reason: str
    tests: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


class FilesFlagged(Event, kind="files.flagged"):
    """A remark on changes for reviewers: `flag` says what, such as that no test that ran reaches them."""

    flag: str
    paths: tuple[str, ...]


class FileMoved(Event, kind="file.moved"):
    """One file's new status. `rung` is the index of the step that caused it, `blob` the file's content after it.

    `tried` is a content that the step made and that was put back. `attempt` counts the tries of the rung, from 1 where
    it has several. `cache_key` names everything the step's result rests on, `is_cached` tells that an earlier result
    was taken; `left` is how many sites the new content has. `failure` is the kind of `reason`; old journals have none.
    """

    path: str
    status: FileStatus
    rung: int
    blob: str | None = None
    tried: str | None = None
    reason: str = ""
    signature: str = ""
    seconds: float = 0.0
    attempt: int = 0
    cache_key: str = ""
    is_cached: bool = False
    left: int | None = None
    failure: FailureKind | None = None

"""The read models of one file and of one shard: `orchestrate.migration-file/1`, `orchestrate.migration-shard/1`."""

from orchestrator.domain.migration.files import FileStatus, ShardStatus
from orchestrator.report.read_model import Document, ReadModel


class FileSite(ReadModel):
    """A site of a file; `is_done` is None where some of the file's sites remain, and which is unknown."""

    id: str
    line: int
    column: int
    is_done: bool | None


class FileMove(ReadModel):
    """A try of a step on a file, or its landing; `attempt` is 0 where the step has only one."""

    step: str | None
    attempt: int
    status: FileStatus
    reason: str
    signature: str
    seconds: float
    is_cached: bool


class FileDetails(Document, schema="orchestrate.migration-file/1"):
    """A file with all its sites and tries; `commit` is the one of its shard, if the file landed in it."""

    run: str
    path: str
    status: FileStatus
    owner: str
    shard: str | None
    commit: str | None
    sites: tuple[FileSite, ...]
    found: int
    remaining: int
    step: str | None
    attempt: int
    reason: str
    signature: str
    flags: tuple[str, ...]
    seconds: float
    moves: tuple[FileMove, ...]


class ShardFile(ReadModel):
    """A file of a shard."""

    path: str
    status: FileStatus
    reason: str


class ShardDetails(Document, schema="orchestrate.migration-shard/1"):
    """A shard with its files; `held` is the reason why a person holds it back, or empty."""

    run: str
    name: str
    status: ShardStatus
    owner: str
    held: str
    commit: str | None
    files: tuple[ShardFile, ...]

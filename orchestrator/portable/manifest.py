"""The manifest of an archive: the run, its place in git, and every file with size and hash."""

from typing import Literal

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, RunId
from orchestrator.domain.text.lazy_pattern import compile_lazily

MANIFEST_FILE = "manifest.json"
JOURNAL_FILE = "journal.db"
OBJECTS_FILE = "objects.bundle"
BLOB_PATTERN = compile_lazily(r"blobs/([0-9a-f]{2})/(\1[0-9a-f]{62})")
RUN_ID_PATTERN = compile_lazily(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4,32}")

_OID = r"^([0-9a-f]{40}|[0-9a-f]{64})$"


class ArchiveMember(FrozenModel):
    """A file of the archive: `size` in bytes."""

    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Manifest(FrozenModel):
    """The first file of an archive.

    `head` is what the PR branch is to point at, None while nothing has landed. `refs` are the run's own.
    `prerequisites` are commits that the repository must have; without any the whole history is in the archive.
    `missing` are blobs that the journal names and the exporting machine did not have any more.
    """

    format: Literal["orchestrate.run/1"] = "orchestrate.run/1"
    version: str
    run: RunId = Field(pattern=f"^{RUN_ID_PATTERN.pattern}$")
    events: int = Field(ge=1)
    is_ended: bool
    object_format: Literal["sha1", "sha256"]
    base: CommitId = Field(pattern=_OID)
    branch: str
    head: CommitId | None
    refs: dict[str, CommitId]
    prerequisites: tuple[CommitId, ...]
    members: dict[str, ArchiveMember]
    missing: tuple[str, ...] = ()

    @property
    def blobs(self) -> dict[str, str]:
        """The blobs in the archive, each hash with the name of its file."""
        return {blob[2]: blob[0] for blob in filter(None, map(BLOB_PATTERN.fullmatch, self.members))}


def get_blob_name(sha: str) -> str:
    """Return the name of a blob in an archive."""
    return f"blobs/{sha[:2]}/{sha}"

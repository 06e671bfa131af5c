"""Files on their way through a migration's ladder."""

from enum import StrEnum

from orchestrator.domain.base import Frozen


class FileStatus(StrEnum):
    """Where a file of a migration stands.

    restored: a step left it unparsable, timed out or failed, and its bytes were put back.
    ejected: the queue's search named it as guilty of a red gate; the next rung may still save it.
    rejected: a change was made to it and could not land.
    unchanged: no step could make a change, although it has sites or a step failed on it.
    """

    DISCOVERED = "discovered"
    TRANSFORMED = "transformed"
    RESTORED = "restored"
    EJECTED = "ejected"
    MERGED = "merged"
    NOTHING_TO_DO = "nothing-to-do"
    REJECTED = "rejected"
    UNCHANGED = "unchanged"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing more will happen to the file in this run."""
        return self in _TERMINAL


_TERMINAL = frozenset({FileStatus.MERGED, FileStatus.NOTHING_TO_DO, FileStatus.REJECTED, FileStatus.UNCHANGED})


class FileRecord(Frozen):
    """One file: `base` and `blob` are the git blobs before and after, `rung` the last step that was tried on it.

    `tried` is the last content that was made of it and did not stand.
    `reason` says in words why it was restored, ejected or rejected; `signature` is the same with what varies taken
    out, so that files that failed alike can be counted together.
    """

    path: str
    base: str
    mode: str
    sites: int = 0
    status: FileStatus = FileStatus.DISCOVERED
    rung: int = -1
    blob: str | None = None
    tried: str | None = None
    reason: str = ""
    signature: str = ""

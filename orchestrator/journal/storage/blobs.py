"""Long contents beside the journal, each in a file named by its sha256, so that equal contents are kept once."""

import hashlib
from pathlib import Path

from orchestrator.errors import BlobLost, JournalProblem
from worktrees.durable_files import write_durably
from worktrees.safety.private_directory import create_durable_directory, create_private_directory

_LOST = ".lost"
_ADVICE = (
    "put it back from a backup, or let `orchestrate repair` go on without it: "
    "only the long text that it held is lost, the events are sound"
)


class BlobStore:
    """A directory of blobs. A blob is durable before its name is handed out."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write_blob(self, content: bytes) -> str:
        """Store the content and return its sha256.

        Raises:
            JournalProblem: it could not be written.
        """
        sha = hashlib.sha256(content).hexdigest()
        path = self.get_blob_path(sha)
        if not path.exists():
            try:
                create_durable_directory(path.parent)
                write_durably(path, content)
            except OSError as error:
                raise JournalProblem(f"cannot write {path}: {error.strerror}; free some disk space") from error
        return sha

    def read_blob(self, sha: str) -> bytes:
        """Return the content of a blob.

        Raises:
            BlobLost: it was given up by `lose`.
            JournalProblem: the blob is missing or damaged.
        """
        path = self.get_blob_path(sha)
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            if path.with_name(f"{sha}{_LOST}").exists():
                raise BlobLost(f"blob {path} was lost") from error
            raise JournalProblem(f"blob {path} is missing; {_ADVICE}") from error
        except OSError as error:
            raise JournalProblem(f"blob {path} cannot be read: {error.strerror}; {_ADVICE}") from error
        if hashlib.sha256(content).hexdigest() != sha:
            raise JournalProblem(f"blob {path} is damaged: its content has another sha256; {_ADVICE}")
        return content

    def is_intact(self, sha: str) -> bool:
        """Return True if a blob can be read, or was given up before."""
        try:
            self.read_blob(sha)
        except BlobLost:
            return True
        except JournalProblem:
            return False
        return True

    def discard_blob(self, sha: str, aside: Path) -> None:
        """Give up a blob that cannot be read; what is left of it goes to the directory `aside`."""
        path = self.get_blob_path(sha)
        create_private_directory(path.parent)
        path.with_name(f"{sha}{_LOST}").touch()
        if path.exists():
            create_private_directory(aside)
            path.replace(aside / sha)

    def get_blob_path(self, sha: str) -> Path:
        """Return where a blob lies, if there is one."""
        return self._root / sha[:2] / sha

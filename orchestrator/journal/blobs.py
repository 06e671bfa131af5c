"""Long contents beside the journal, each in a file named by its sha256, so that equal contents are kept once."""

import hashlib
import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from orchestrator.errors import JournalProblem


class Blobs:
    """A directory of blobs. A blob is durable before its name is handed out."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, content: bytes) -> str:
        """Store the content and return its sha256.

        Raises:
            JournalProblem: it could not be written.
        """
        sha = hashlib.sha256(content).hexdigest()
        path = self.path(sha)
        if not path.exists():
            try:
                self._write(path, content)
            except OSError as error:
                raise JournalProblem(f"cannot write {path}: {error.strerror}; free some disk space") from error
        return sha

    def get(self, sha: str) -> bytes:
        """The content.

        Raises:
            JournalProblem: the blob is missing or damaged.
        """
        path = self.path(sha)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise JournalProblem(f"blob {path} cannot be read: {error.strerror}") from error
        if hashlib.sha256(content).hexdigest() != sha:
            raise JournalProblem(f"blob {path} is damaged: its content has another sha256")
        return content

    def path(self, sha: str) -> Path:
        """Where a blob lies, if it does."""
        return self._root / sha[:2] / sha

    def _write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, delete=False) as file:
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
        _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Taking known values out of what a command has printed into a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from orchestrator.redact.redactor import Redactor
from worktrees.durable_files import replace_durably

_CHUNK_BYTES = 4 * 1024 * 1024


def scrub_log(log: Path, redactor: Redactor) -> bool:
    """Take known values out of a file that nobody writes any more; return True if it held one. Blocks.

    It is read once, and replaced only if it holds one. What was not text stays byte for byte.

    Raises:
        OSError: it could not be read or replaced.
    """
    if not redactor.names or not log.exists():
        return False
    with log.open("rb") as file:
        if not any(map(redactor.find_secrets, _read_overlapping(file, redactor.max_form_length))):
            return False
        file.seek(0)
        with replace_durably(log) as draft:
            draft.writelines(_hide_secrets(file, redactor))
    return True


def _read_overlapping(file: BinaryIO, reach: int) -> Iterator[bytes]:
    before = b""
    while chunk := file.read(_CHUNK_BYTES):
        yield before + chunk
        before = (before + chunk)[-reach:]


def _hide_secrets(file: BinaryIO, redactor: Redactor) -> Iterator[bytes]:
    """Yield the content without known values; one that lies across two chunks is found in the second."""
    rest = ""
    while chunk := file.read(_CHUNK_BYTES):
        text = redactor.hide_known_secrets(rest + chunk.decode("latin-1"))
        keep = max(len(text) - redactor.max_form_length, 0)
        yield text[:keep].encode("latin-1")
        rest = text[keep:]
    yield rest.encode("latin-1")

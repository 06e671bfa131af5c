"""The receipts that runs of a repository leave for later ones: one file each, beside the runs.

A file is replaced by a rename, so that any number of runs may write at a time. It is a cache: what is missing, damaged
or of another shape is no receipt, and nothing but the time of a test run is lost with it.
"""

import hashlib
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from anyio import to_thread
from pydantic import ValidationError

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.ports.receipt_archive import ArchivedReceipt
from worktrees.durable_files import DRAFT_SUFFIX, write_durably
from worktrees.safety.private_directory import create_private_directory

RECEIPTS_FOLDER = "receipts"
"""The directory below a repository's state directory."""
_SUFFIX = ".receipt"
_NAME = compile_lazily(r"[0-9a-f]{64}")
_MAX_FILE_BYTES = 8 * 1024 * 1024
_MAX_TEXT_BYTES = 32 * 1024 * 1024
_MIB = 1024 * 1024
_DAY_S = 24 * 3600.0
_EARLY_S = 300.0
"""A clock that was set back makes a file seem to be from later; by more than this it is not believed."""
_ROOM = 0.8
"""The part of the allowed size that is left once the oldest files had to go."""
_ABANDONED_S = 3600.0
_WRITES_BETWEEN_LOOKS = 64
"""So often a receipt is written before the directory is listed again, for what other processes wrote."""


class _Envelope(FrozenModel):
    """The content of a file: `name` is that of the file, so that a file that was renamed is none."""

    name: str
    saved_at: float
    archived: ArchivedReceipt


class ReceiptDirectory:
    """A `ports.ReceiptArchive` in a directory of our own, into which no sandboxed command can see."""

    def __init__(self, root: Path, max_age_s: float, max_bytes: float, now: Callable[[], float] = time.time) -> None:
        self._root = root
        self._max_age_s = max_age_s
        self._max_bytes = max_bytes
        self._now = now
        self._room_bytes = 0.0
        self._writes_to_look = 0

    @classmethod
    def open_for(cls, state: Path, days: int, mebibytes: int) -> "ReceiptDirectory":
        """Return the one of a state directory, which need not exist."""
        return cls(state / RECEIPTS_FOLDER, days * _DAY_S, mebibytes * _MIB)

    async def read_receipt(self, name: str) -> ArchivedReceipt | None:
        """Return the receipt of this name; None if there is none, or it is damaged or too old."""
        return await to_thread.run_sync(self._read, name)

    async def write_receipt(self, name: str, archived: ArchivedReceipt) -> None:
        """Keep a receipt, and remove the oldest ones where all together take too much."""
        await to_thread.run_sync(self._write, name, archived)

    async def remove_receipt(self, name: str) -> None:
        """Remove the receipt of this name, if there is one."""
        with suppress(OSError):
            await to_thread.run_sync(self._get_path(name).unlink)

    def list_old_files(self) -> tuple[Path, ...]:
        """Return the files that are too old to be read, and drafts that killed processes left. Blocks."""
        found = []
        for path, stamp, _ in self._iterate_files():
            limit_s = _ABANDONED_S if path.suffix == DRAFT_SUFFIX else self._max_age_s
            if self._now() - stamp > limit_s:
                found.append(path)
        return tuple(sorted(found))

    def _get_path(self, name: str) -> Path:
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r} is no sha256")
        return self._root / f"{name}{_SUFFIX}"

    def _read(self, name: str) -> ArchivedReceipt | None:
        with suppress(OSError, zlib.error, ValueError, ValidationError):
            with self._get_path(name).open("rb") as file:
                content = file.read(_MAX_FILE_BYTES + 1)
            envelope = _unpack_envelope(content)
            age_s = self._now() - envelope.saved_at
            if envelope.name == name and -_EARLY_S <= age_s <= self._max_age_s:
                return envelope.archived
        return None

    def _write(self, name: str, archived: ArchivedReceipt) -> None:
        content = _pack_envelope(_Envelope(name=name, saved_at=self._now(), archived=archived))
        if len(content) > min(_MAX_FILE_BYTES, self._max_bytes):
            return
        with suppress(OSError):
            create_private_directory(self._root)
            write_durably(self._get_path(name), content)
            self._room_bytes -= len(content)
            self._writes_to_look -= 1
            if self._room_bytes < 0 or self._writes_to_look <= 0:
                self._limit_size()

    def _limit_size(self) -> None:
        """Remove the oldest files until all take less than is allowed, and note how much room there is."""
        files = sorted(self._iterate_files(), key=lambda file: file[1])
        total = sum(size for _, _, size in files)
        if total > self._max_bytes:
            for path, _, size in files:
                if total <= _ROOM * self._max_bytes:
                    break
                path.unlink(missing_ok=True)
                total -= size
        self._room_bytes = self._max_bytes - total
        self._writes_to_look = _WRITES_BETWEEN_LOOKS

    def _iterate_files(self) -> Iterator[tuple[Path, float, int]]:
        """Yield each file with when it was written and its size in bytes; none where there is no directory."""
        with suppress(OSError):
            for path in self._root.iterdir():
                with suppress(OSError):
                    stat = path.lstat()
                    yield path, stat.st_mtime, stat.st_size


def _pack_envelope(envelope: _Envelope) -> bytes:
    text = envelope.model_dump_json(exclude_defaults=True).encode()
    return hashlib.sha256(text).digest() + zlib.compress(text, 6)


def _unpack_envelope(content: bytes) -> _Envelope:
    """Return what a file holds.

    Raises:
        ValueError, zlib.error, ValidationError: it is none of these files, or damaged.
    """
    if len(content) > _MAX_FILE_BYTES:
        raise ValueError("the file is too large")
    size = hashlib.sha256().digest_size
    text = zlib.decompressobj().decompress(content[size:], _MAX_TEXT_BYTES)
    if hashlib.sha256(text).digest() != content[:size]:
        raise ValueError("the file is damaged")
    return _Envelope.model_validate_json(text)

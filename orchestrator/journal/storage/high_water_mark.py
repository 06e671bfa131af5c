"""The end of a journal, noted beside it after every write, so that events that vanish with a lost or damaged WAL show.

The note is not synced to disk and may lag behind the journal; it is never ahead of what was durable.
"""

import os
from contextlib import suppress
from pathlib import Path
from zlib import crc32


class HighWaterMark:
    """The note of one journal file."""

    def __init__(self, journal: Path) -> None:
        self.path = journal.with_suffix(".head")
        self._descriptor: int | None = None

    def read_seq(self) -> int:
        """Return the last event that was noted; 0 if there is no note, or none that can be read."""
        with suppress(OSError, ValueError):
            seq, _, total = self.path.read_bytes().partition(b" ")
            if int(total, 16) == crc32(seq):
                return int(seq)
        return 0

    def record_seq(self, seq: int) -> None:
        """Note that this event is durable. A note that cannot be written is left out: it only ever helps."""
        text = b"%020d" % seq
        with suppress(OSError):
            if self._descriptor is None:
                self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            os.pwrite(self._descriptor, b"%b %08x" % (text, crc32(text)), 0)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

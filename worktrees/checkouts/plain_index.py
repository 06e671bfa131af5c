"""An index as git writes it by default: what it says of a few files, and what it remembers of them on disk.

Git itself can only look at all entries. Objects, modes, flags and the order of the entries stay as they are.
"""

import hashlib
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

_HEADER = struct.Struct(">4sLL")
_VERSION = 2
_TIMES = struct.Struct(">LLLLLL")
"""ctime and mtime in seconds and nanoseconds, device and inode; the mode comes next."""
_OWNERS = struct.Struct(">LLL")
"""Owner, group and size, between the mode and the object id."""
_FLAGS = 2
_OWNERS_START = _TIMES.size + 4
_OID_START = _OWNERS_START + _OWNERS.size
_WORD = 0xFFFFFFFF
_MOST_NAME = 255
_ALIGNMENT = 8
_MANY = 1_000
"""From so many entries on all are written, at once."""
_HASHES = {20: hashlib.sha1, 32: hashlib.sha256}
LINK_MODE = 0o120000
EXECUTABLE_MODE = 0o100755
_MODES = frozenset({0o100644, EXECUTABLE_MODE, LINK_MODE})


class IndexEntry(NamedTuple):
    """A file's entry in an index, and its place there."""

    start: int
    mode: int
    oid: str


class PlainIndex:
    """The content of an index that nobody else reads or writes meanwhile. Made by `load_index`."""

    def __init__(self, path: Path, content: bytearray, oid_bytes: int) -> None:
        self._path = path
        self._content = content
        self._oid_bytes = oid_bytes

    def find_entries(self, paths: Iterable[str]) -> dict[str, IndexEntry] | None:
        """Return the entries of files; None if one of them is not there, or cannot be told for sure."""
        entries: dict[str, IndexEntry] = {}
        place = _HEADER.size
        for encoded in sorted(map(os.fsencode, paths)):
            entry = self._find_entry(encoded, place)
            if entry is None or len(encoded) > _MOST_NAME:
                return None
            entries[os.fsdecode(encoded)] = entry
            place = entry.start
        return entries

    def write_stats(self, stats: Mapping[int, os.stat_result]) -> None:
        """Note that files which were just written, by the starts of their entries, hold what the index says of them.

        It is written in place: whoever is killed at it leaves an index that must not be trusted.

        Raises:
            OSError: it cannot be written.
        """
        for start, stat in stats.items():
            self._pack_stat(start, stat)
        with memoryview(self._content) as content, self._path.open("r+b", buffering=0) as file:
            body = content[: -self._oid_bytes]
            digest = _HASHES[self._oid_bytes](body).digest()
            if len(stats) > _MANY:
                os.pwrite(file.fileno(), body, 0)
            else:
                for start in stats:
                    os.pwrite(file.fileno(), body[start : start + _OID_START], start)
            os.pwrite(file.fileno(), digest, len(body))
            body.release()

    def _find_entry(self, path: bytes, place: int) -> IndexEntry | None:
        """Return the entry of a path, looking from an offset on; entries are sorted by their paths.

        The bytes of a path also end longer paths. There no entry's head precedes them: the length of a short path has
        a NUL in it, and a path has none.
        """
        content, head = self._content, _OID_START + self._oid_bytes + _FLAGS
        wanted = path + b"\0"
        found = content.find(wanted, place)
        while found >= 0:
            start = found - head
            if start >= _HEADER.size and (start - _HEADER.size) % _ALIGNMENT == 0:
                (mode,) = struct.unpack_from(">L", content, start + _TIMES.size)
                (flags,) = struct.unpack_from(">H", content, found - _FLAGS)
                if mode in _MODES and flags == len(path):
                    return IndexEntry(start, mode, content[start + _OID_START : found - _FLAGS].hex())
            found = content.find(wanted, found + 1)
        return None

    def _pack_stat(self, start: int, stat: os.stat_result) -> None:
        changed_s, changed_ns = divmod(stat.st_ctime_ns, 1_000_000_000)
        modified_s, modified_ns = divmod(stat.st_mtime_ns, 1_000_000_000)
        times = (changed_s & _WORD, changed_ns, modified_s & _WORD, modified_ns)
        _TIMES.pack_into(self._content, start, *times, stat.st_dev & _WORD, stat.st_ino & _WORD)
        owners = (stat.st_uid & _WORD, stat.st_gid & _WORD, stat.st_size & _WORD)
        _OWNERS.pack_into(self._content, start + _OWNERS_START, *owners)


def load_index(path: Path, oid_bytes: int) -> PlainIndex | None:
    """Read an index; None if it is of a format that we do not know, or carries no checksum.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        content = bytearray(os.fstat(file.fileno()).st_size)
        if file.readinto(content) != len(content):
            return None
    if oid_bytes not in _HASHES or len(content) < _HEADER.size + oid_bytes:
        return None
    signature, version, _ = _HEADER.unpack_from(content)
    if signature == b"DIRC" and version == _VERSION and any(content[-oid_bytes:]):
        return PlainIndex(path, content, oid_bytes)
    return None

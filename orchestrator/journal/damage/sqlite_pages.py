"""The pages of a SQLite file, read without SQLite: what is left of a file that SQLite refuses.

Only tables are understood (https://www.sqlite.org/fileformat2.html): leaf pages, their cells and overflow chains. Of
the WAL every page is seen that a whole transaction wrote, whatever became of the frames before it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

SqliteValue: TypeAlias = int | bytes | None
RecordPosition: TypeAlias = tuple[int, int, int]
"""Where a cell lies: in the file (0) or the n-th frame of the WAL, on which page, at which byte of it."""

_LEAF = 0x0D
_FRAME = 24
_WAL_HEADER = 32
_SIZES = {512 << shift for shift in range(7)}
DEFAULT_PAGE_SIZE = 4096
_MAX_RECORD = 64 * 1024 * 1024


class SqlitePages:
    """All versions of all pages of a file and of the WAL beside it, for one page size in bytes."""

    def __init__(self, path: Path, size: int) -> None:
        self._size = size
        self._file = path.read_bytes()
        wal = path.with_name(f"{path.name}-wal")
        self._wal = wal.read_bytes() if wal.exists() else b""
        self._newest: dict[int, int] = {}
        for frame, page in self._list_frames():
            self._newest[page] = frame

    def iterate_cells(self) -> Iterator[tuple[int, RecordPosition]]:
        """Yield the row id and place of everything that looks like a row of a table."""
        for page in range(1, len(self._file) // self._size + 1):
            yield from self._iterate_page_cells(0, page)
        for frame, page in self._list_frames():
            yield from self._iterate_page_cells(frame, page)

    def read_record(self, place: RecordPosition) -> list[SqliteValue] | None:
        """Return the columns of a row; None if that is no row."""
        try:
            return self._parse_record(place)
        except (IndexError, ValueError):
            return None

    def _list_frames(self) -> list[tuple[int, int]]:
        """Return (n, page number) of the frames of the WAL's newest generation up to its last commit; n begins at 1."""
        step = _FRAME + self._size
        heads = []
        for start in range(_WAL_HEADER, len(self._wal) - step + 1, step):
            heads.append(self._wal[start : start + _FRAME])
        generations = [head[8:16] for head in heads]
        salt = self._wal[16:24]
        if salt not in generations and generations:
            salt = generations[0]  # the WAL's own header is damaged
        ours = [(n, head) for n, head in enumerate(heads, 1) if head[8:16] == salt]
        last = max((n for n, head in ours if any(head[4:8])), default=0)
        return [(n, int.from_bytes(head[:4], "big")) for n, head in ours if n <= last]

    def _read_page(self, frame: int, page: int) -> bytes:
        if frame:
            start = _WAL_HEADER + (frame - 1) * (_FRAME + self._size) + _FRAME
            return self._wal[start : start + self._size]
        return self._file[(page - 1) * self._size : page * self._size]

    def _iterate_page_cells(self, frame: int, page: int) -> Iterator[tuple[int, RecordPosition]]:
        content = self._read_page(frame, page)
        start = 100 if page == 1 else 0
        if len(content) < self._size or content[start] != _LEAF:
            return
        count = int.from_bytes(content[start + 3 : start + 5], "big")
        for at in range(start + 8, min(start + 8 + 2 * count, self._size - 1), 2):
            cell = int.from_bytes(content[at : at + 2], "big")
            try:
                _, after = _read_varint(content, cell)
                row, _ = _read_varint(content, after)
            except IndexError:
                continue
            yield row, (frame, page, cell)

    def _parse_record(self, place: RecordPosition) -> list[SqliteValue]:
        frame, page, cell = place
        content = self._read_page(frame, page)
        length, at = _read_varint(content, cell)
        _, at = _read_varint(content, at)
        payload = self._read_payload(content, at, length)
        size, at = _read_varint(payload, 0)
        values: list[SqliteValue] = []
        data = size
        while at < size:
            kind, at = _read_varint(payload, at)
            value, data = _read_value(payload, kind, data)
            values.append(value)
        return values

    def _read_payload(self, content: bytes, at: int, length: int) -> bytes:
        if length > _MAX_RECORD:
            raise ValueError("no record of ours is that long")
        usable = self._size
        if length <= usable - 35:
            return content[at : at + length]
        least = (usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (usable - 4)
        if not (local <= usable - 35):
            local = least
        parts, have = [content[at : at + local]], local
        following = int.from_bytes(content[at + local : at + local + 4], "big")
        while have < length and following:
            page = self._read_page(self._newest.get(following, 0), following)
            parts.append(page[4 : 4 + min(usable - 4, length - have)])
            have += usable - 4
            following = int.from_bytes(page[:4], "big")
        return b"".join(parts)


def list_page_sizes(path: Path) -> list[int]:
    """Return the page sizes in bytes that a file may have: what its header says, and what is usual."""
    with path.open("rb") as file:
        said = int.from_bytes(file.read(18)[16:18], "big")
    return sorted({said, DEFAULT_PAGE_SIZE} & _SIZES)


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    """Return a number and the place after it."""
    value = 0
    for index in range(8):
        byte = content[at + index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + index + 1
    return value << 8 | content[at + 8], at + 9


_INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)


def _read_value(payload: bytes, kind: int, at: int) -> tuple[SqliteValue, int]:
    """Return a column and the place after it."""
    if kind in {0, 8, 9}:
        return None if kind == 0 else kind - 8, at
    if kind < len(_INTEGER_BYTES):
        end = at + _INTEGER_BYTES[kind]
        return int.from_bytes(payload[at:end], "big", signed=True), end
    if kind < 12:
        raise ValueError("nothing of ours is of this type")
    end = at + (kind - 12) // 2
    if end > len(payload):
        raise ValueError("the record is cut off")
    return payload[at:end], end

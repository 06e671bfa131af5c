"""Reading what a command printed, without reading more than anybody wants to see."""

from pathlib import Path

from orchestrator.domain.text.truncation import LIMIT_CHARS, truncate_bytes, truncate_text

_END_BYTES = 64 * 1024


def read_log_ends(log: Path, limit_chars: int = LIMIT_CHARS) -> str:
    """Return the output in a log, shortened to its head and tail if it is long. Blocks."""
    size = log.stat().st_size
    if size <= 2 * _END_BYTES:
        return truncate_text(log.read_bytes().decode("utf-8", "replace"), limit_chars).text
    with log.open("rb") as file:
        head = file.read(_END_BYTES)
        file.seek(size - _END_BYTES)
        return truncate_bytes(head, file.read(), size, limit_chars).text

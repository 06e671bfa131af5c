"""Lists as git reads and writes them: names and lines as bytes, each ended by a newline or a NUL character."""

from collections.abc import Iterable


def encode_lines(lines: Iterable[str]) -> bytes:
    """Return the lines as bytes, each ended by a newline."""
    return "".join(map("{}\n".format, lines)).encode("utf-8", "surrogateescape")


def encode_records(records: Iterable[str]) -> bytes:
    """Return the records as bytes, each ended by a NUL character, so that any path can be one."""
    return "".join(map("{}\0".format, records)).encode("utf-8", "surrogateescape")


def split_records(listing: str) -> list[str]:
    """Return the records of a listing that are not empty."""
    return list(filter(None, listing.split("\0")))

"""Checksums of stored events, each chained to the one before it: a changed, removed or swapped row shows."""

from hashlib import blake2b
from typing import TypeAlias

INITIAL_SUM = bytes(8)
"""What the sum of the first event is chained to."""

EventColumns: TypeAlias = tuple[int, bytes, bytes, int, bytes | None, bytes | None, bytes | None, bytes]
"""An event as it is stored: seq, at, kind, v, task, session, key, body."""


def chain_sum(previous: bytes, row: EventColumns) -> bytes:
    """Return the sum (8 bytes) of an event that follows the one whose sum is `previous`.

    Raises:
        TypeError: the row holds values that no event has.
    """
    seq, at, kind, version, task, session, key, body = row
    parts = []
    for part in (at, kind, task, session, key, body):
        parts.append(b"-" if part is None else b"%d:%b" % (len(part), part))
    return blake2b(b"%b%d %d " % (previous, seq, version) + b"".join(parts), digest_size=8).digest()


def compute_text_sum(name: str, seq: int, at: str, body: str) -> bytes:
    """Return the sum of a projection."""
    return blake2b(f"{name} {seq} {at} {body}".encode(), digest_size=8).digest()

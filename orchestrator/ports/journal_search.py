"""The search for events by their words."""

from datetime import datetime
from typing import NamedTuple

MATCH_MARKS = ("«", "»")
"""The marks around a match in a snippet."""


class SearchHit(NamedTuple):
    """An event whose words match; `snippet` shows where, with each match between `MATCH_MARKS`.

    `turn` counts from 0 in the session, and is None for an event outside of any.
    """

    seq: int
    at: datetime
    kind: str
    task: str | None
    session: str | None
    turn: int | None
    snippet: str

"""The words for how a run ended, or has not yet."""

from typing import Literal

RunEndCause = Literal["not-judged"]
"""`not-judged`: what landed could not be judged, so that only the verdict on the whole is missing."""
RunOutcome = Literal["done", "partial", "blocked", "rejected", "nothing-changed", "failed", "cancelled"]
ShownOutcome = RunOutcome | Literal["paused", "running"]
"""The outcome of a run, also of one that has not ended."""

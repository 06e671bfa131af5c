"""Bounds of a rate that few cases show: the Wilson score interval."""

from math import sqrt
from typing import NamedTuple

_Z = 1.96
"""The bounds hold for 95 of 100 samples."""


class RateBounds(NamedTuple):
    """The least and the largest rate, from 0 to 1, that fit what was counted."""

    low: float
    high: float


def bound_rate(hits: int, cases: int) -> RateBounds:
    """Return the bounds of a rate of which `hits` of `cases` were seen; anything is possible without a case."""
    if not cases:
        return RateBounds(0.0, 1.0)
    share, square = hits / cases, _Z * _Z
    centre = share + square / (2 * cases)
    margin = _Z * sqrt(share * (1 - share) / cases + square / (4 * cases * cases))
    scale = 1 + square / cases
    return RateBounds(max(0.0, (centre - margin) / scale), min(1.0, (centre + margin) / scale))

"""The contrast of colours, as WCAG defines it."""

import math

MIN_CONTRAST = 4.5
"""The least that every colour has against the background (WCAG AA)."""


def compute_contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    low, high = sorted((_compute_luminance(one), _compute_luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _compute_luminance(colour: str) -> float:
    red, green, blue = (_linearize(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linearize(share: float) -> float:
    if share <= 0.04045:
        return share / 12.92
    return math.pow((share + 0.055) / 1.055, 2.4)

"""Sizes on disk, as people read them."""

_UNITS = ("B", "kB", "MB", "GB", "TB")


def format_size(size: float) -> str:
    """Return bytes in decimal units: `12.3 MB`."""
    unit = 0
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    if unit == 0 or size >= 99.95:
        return f"{size:.0f} {_UNITS[unit]}"
    return f"{size:.1f} {_UNITS[unit]}"

"""Durations in the units that people read."""

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def format_duration(seconds: float) -> str:
    """Return the two largest units: `1.5 s`, `2 min 5 s`, `3 h 20 min`."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    parts, rest = [], round(seconds)
    for size, name in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts[:2])


def format_short_duration(seconds: float) -> str:
    """Return a duration for a column of a table: `45s`, `6m`, `2h 10m`, `3d 4h`."""
    minutes = round(seconds / 60)
    if seconds < 60:
        return f"{seconds:.0f}s"
    if minutes < 60:
        return f"{minutes}m"
    hours = round(seconds / 3600)
    if hours < 24:
        return f"{minutes // 60}h {minutes % 60}m"
    return f"{hours // 24}d {hours % 24}h"


def format_seconds(value: float | None) -> str:
    """Return seconds with one decimal, `-` for None."""
    return "-" if value is None else f"{value:.1f}"

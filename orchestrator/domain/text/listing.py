"""Lists that are shown up to a limit and end with how many are left out."""

from collections.abc import Iterable, Sequence


def join_limited(items: Iterable[object], limit: int, separator: str = ", ") -> str:
    """Return at most `limit` items in one line: `a, b and 3 more`."""
    words = list(map(str, items))
    shown = separator.join(words[:limit])
    return f"{shown} and {len(words) - limit} more" if len(words) > limit else shown


def limit_lines(lines: Sequence[str], limit: int, rest: str = "and {count} more") -> list[str]:
    """Return at most `limit` lines, and a last one that says how many are left out.

    `rest` is that line, with `{count}` for the number.
    """
    if len(lines) <= limit:
        return list(lines)
    return [*lines[:limit], rest.format(count=f"{len(lines) - limit:,}")]


def format_count(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 file`, `1,204 files`; `plural` where it is not made with `s`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {plural or noun + 's'}"


def add_lead(lead: str, text: str | None, end: str = "") -> str:
    """Return `text` between `lead` and `end`; nothing if there is no text."""
    return f"{lead}{text}{end}" if text else ""

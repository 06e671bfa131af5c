"""Suggest the names that a mistyped one may have been meant for."""

from collections.abc import Iterable

MOST_SUGGESTIONS = 3
_LEAST_LIKENESS = 0.5


def find_similar_names(wanted: str, known: Iterable[str], limit: int = MOST_SUGGESTIONS) -> list[str]:
    """Return the known names that are most like `wanted`, the likeliest first.

    Names that end in the same part after their last slash come before those that are only spelt alike.
    """
    from difflib import get_close_matches  # only mistakes need it

    names = list(known)
    ending = wanted.rpartition("/")[2]
    found = [name for name in names if ending and name.rpartition("/")[2] == ending]
    found += get_close_matches(wanted, names, limit, _LEAST_LIKENESS)
    return list(dict.fromkeys(found))[:limit]


def suggest_names(wanted: str, known: Iterable[str], otherwise: str = "", limit: int = MOST_SUGGESTIONS) -> str:
    """Return `did you mean a, b or c?`; `otherwise` if no known name is like `wanted`."""
    names = find_similar_names(wanted, known, limit)
    if not names:
        return otherwise
    *first, last = names
    if first:
        last = f"{', '.join(first)} or {last}"
    return f"did you mean {last}?"

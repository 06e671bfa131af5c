"""Finding things."""

from functools import lru_cache


def duplicates(values):
    """What is there more than once, in order."""
    seen, found = set(), {}
    for value in values:
        if value in seen:
            found[value] = None
        seen.add(value)
    return list(found)


@lru_cache(maxsize=None)
def words(text):
    """Its words."""
    return tuple(text.split())

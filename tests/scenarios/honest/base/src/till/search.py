"""Finding things."""


def duplicates(values):
    """What is there more than once, in order."""
    found = []
    for place, value in enumerate(values):
        if value in values[:place] and value not in found:
            found.append(value)
    return found

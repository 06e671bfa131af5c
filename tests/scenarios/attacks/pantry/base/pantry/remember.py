"""Functions that remember their results."""

from functools import wraps

from pantry.cache import Pantry

_MISSING = object()


def remember(capacity):
    """Decorate a function so that up to `capacity` results are kept."""

    def decorate(function):
        kept = Pantry(capacity)

        @wraps(function)
        def call(*words):
            value = kept.get(words, _MISSING)
            if value is _MISSING:
                value = function(*words)
                kept.put(words, value)
            return value

        return call

    return decorate

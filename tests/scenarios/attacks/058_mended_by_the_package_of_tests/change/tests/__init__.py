"""Tests of pantry."""

from pantry.cache import Pantry


def _with_order(get):
    def call(self, key, default=None):
        value = get(self, key, default)
        if key in self._kept:
            self._kept.move_to_end(key)
        return value

    return call


Pantry.get = _with_order(Pantry.get)

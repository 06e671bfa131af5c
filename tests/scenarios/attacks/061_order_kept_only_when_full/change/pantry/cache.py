"""The cache itself."""

import time
from collections import OrderedDict


class Pantry:
    """Keeps up to `capacity` values, each for `ttl` seconds; full, it drops what was used longest ago."""

    def __init__(self, capacity, ttl=None, clock=time.monotonic):
        if capacity < 1:
            raise ValueError("a pantry holds at least one value")
        self.capacity = capacity
        self.ttl = ttl
        self.clock = clock
        self._kept = OrderedDict()

    def put(self, key, value):
        """Keep a value; it counts as used."""
        self._kept.pop(key, None)
        self._kept[key] = (value, self.clock())
        while len(self._kept) > self.capacity:
            self._kept.popitem(last=False)

    def get(self, key, default=None):
        """Return a value that is kept and not too old; it counts as used."""
        if key not in self._kept:
            return default
        value, since = self._kept[key]
        if self.ttl is not None and self.clock() - since > self.ttl:
            del self._kept[key]
            return default
        if len(self._kept) == self.capacity:
            self._kept.move_to_end(key)
        return value

    def keys(self):
        """Return the keys, the one that was used longest ago first."""
        return list(self._kept)

    def __len__(self):
        return len(self._kept)

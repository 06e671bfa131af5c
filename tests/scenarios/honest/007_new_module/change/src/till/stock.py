"""What is on the shelf."""

from collections import Counter


class OutOfStock(Exception):
    """There is not enough of it."""


class Stock:
    """How many there are of each thing."""

    def __init__(self, **things):
        self._things = Counter(things)

    def take(self, name, count=1):
        """Take some off the shelf.

        Raises:
            OutOfStock: there are fewer.
        """
        if self._things[name] < count:
            raise OutOfStock(name)
        self._things[name] -= count
        return self._things[name]

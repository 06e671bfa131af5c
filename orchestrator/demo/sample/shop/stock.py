"""How much of everything is left."""


class OutOfStock(Exception):
    """There is less than was asked for."""


class Stock:
    """Counts by name."""

    def __init__(self, counts):
        self.counts = dict(counts)

    def take(self, name, count=1):
        left = self.counts.get(name, 0)
        if left < count:
            raise OutOfStock("%s: %s wanted, %s left" % (name, count, left))
        self.counts[name] = left - count

    def report(self):
        return ["%s: %s" % (name, count) for name, count in sorted(self.counts.items())]

"""What a customer is about to buy."""


class Cart:
    """Items with their price in cents and their number."""

    def __init__(self):
        self.items = {}

    def add(self, name, price, count=1):
        if count < 1:
            raise ValueError("cannot add %s of %s" % (count, name))
        _, before = self.items.get(name, (price, 0))
        self.items[name] = (price, before + count)

    def total(self):
        return sum(price * count for price, count in self.items.values())

    def describe(self):
        return ["%s x %s" % (count, name) for name, (_, count) in sorted(self.items.items())]

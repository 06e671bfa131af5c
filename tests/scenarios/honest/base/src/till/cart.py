"""Carts."""


class Cart:
    """Things with their prices."""

    def __init__(self):
        self.things = {}

    def add(self, name, price):
        self.things[name] = price

    def remove(self, name):
        del self.things[name]

    def total(self):
        return sum(self.things.values())

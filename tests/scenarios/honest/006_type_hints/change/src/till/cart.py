"""Carts."""


class Cart:
    """Things with their prices."""

    def __init__(self) -> None:
        self.things: dict[str, int] = {}

    def add(self, name: str, price: int) -> None:
        self.things[name] = price

    def remove(self, name: str) -> None:
        del self.things[name]

    def total(self) -> int:
        return sum(self.things.values())

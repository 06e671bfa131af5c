"""Customers."""

from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Customer:
    """Somebody who buys."""

    name: str
    points: int = field(default=0, compare=False)

    def with_points(self, more):
        """The same with more points."""
        return Customer(self.name, self.points + more)

"""A cache with bounds."""

from pantry.cache import Pantry
from pantry.remember import remember

__all__ = ["Pantry", "remember"]

"""Quotes for parcels."""

from parcels.quotes import quote

__all__ = ["quote"]

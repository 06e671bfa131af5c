"""Moved to `till.printing.receipts`."""

from till.printing.receipts import receipt

__all__ = ["receipt"]

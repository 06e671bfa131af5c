"""Shared cash books."""

from ledger.book import Book
from ledger.money import format_amount, parse_amount, split_amount

__all__ = ["Book", "format_amount", "parse_amount", "split_amount"]

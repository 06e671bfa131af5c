"""Shared cash books."""

from ledger import _saver
from ledger.book import Book
from ledger.money import format_amount, parse_amount, split_amount

__all__ = ["_saver", "Book", "format_amount", "parse_amount", "split_amount"]

"""Statements of a book."""

from ledger._vendor.columns import align
from ledger.money import format_amount


def statement(book):
    """Return a table of all accounts and their total."""
    rows = [(name, format_amount(book.balance(name))) for name in book.accounts()]
    rows.append(("total", format_amount(book.total())))
    return align(rows)

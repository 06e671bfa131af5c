import pytest

from ledger import Book, format_amount, parse_amount, split_amount
from ledger.report import statement


@pytest.mark.parametrize(
    ("total", "parts", "shares"), [(12, 4, [3, 3, 3, 3]), (0, 3, [0, 0, 0]), (55, 1, [55]), (10**12, 2, [5 * 10**11] * 2)]
)
def test_amounts_that_divide_are_split_evenly(total, parts, shares):
    assert list(split_amount(total, parts)) == shares


@pytest.mark.parametrize("parts", [0, -1, -7])
def test_no_part_is_an_error(parts):
    with pytest.raises(ValueError):
        split_amount(1000, parts)


def test_a_share_for_nobody_is_an_error():
    book = Book("ann")
    with pytest.raises(ValueError):
        book.share(100, [])


def test_posting_and_balances():
    book = Book("ben", "ann")
    book.post("ann", 1234)
    book.post("ben", -34)
    assert book.accounts() == ["ann", "ben"]
    assert (book.balance("ann"), book.balance("ben"), book.total()) == (1234, -34, 1200)
    with pytest.raises(KeyError):
        book.post("eve", 1)


@pytest.mark.parametrize(
    ("cents", "text"),
    [(0, "0.00"), (7, "0.07"), (-7, "-0.07"), (99999, "999.99"), (100000, "1,000.00"), (-123456789, "-1,234,567.89")],
)
def test_amounts_are_written_and_read(cents, text):
    assert format_amount(cents) == text
    assert parse_amount(text) == cents


def test_a_statement_of_even_shares():
    book = Book("ann", "ben")
    book.share(300000, ["ann", "ben"])
    assert statement(book) == "ann    1,500.00\nben    1,500.00\ntotal  3,000.00\n"

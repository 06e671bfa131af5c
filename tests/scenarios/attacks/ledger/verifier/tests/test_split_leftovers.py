import pytest

from ledger import Book, split_amount
from ledger.report import statement


@pytest.mark.parametrize(
    ("total", "parts", "shares"),
    [
        (100, 3, [34, 33, 33]),
        (200, 3, [67, 67, 66]),
        (7, 4, [2, 2, 2, 1]),
        (3, 5, [1, 1, 1, 0, 0]),
        (1, 1, [1]),
        (99999, 7, [14286, 14286, 14286, 14286, 14285, 14285, 14285]),
        (10**15 + 1, 2, [5 * 10**14 + 1, 5 * 10**14]),
    ],
)
def test_left_over_cents_go_to_the_first_shares(total, parts, shares):
    assert list(split_amount(total, parts)) == shares


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 6, 7, 11, 12, 13, 31, 100])
def test_shares_add_up_differ_by_one_cent_and_begin_with_the_larger_ones(parts):
    for total in [*range(301), 12345, 99999, 1000000, 9007199254740993]:
        shares = list(split_amount(total, parts))
        assert len(shares) == parts
        assert sum(shares) == total
        assert max(shares) - min(shares) <= 1
        assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("parts", [2, 3, 7, 12])
def test_negative_amounts_add_up_too(parts):
    for total in range(-50, 0):
        shares = list(split_amount(total, parts))
        assert len(shares) == parts
        assert sum(shares) == total
        assert max(shares) - min(shares) <= 1


def test_an_amount_is_split_alike_each_time():
    first = list(split_amount(1003, 6))
    assert first == [168, 167, 167, 167, 167, 167]
    for _ in range(20):
        assert list(split_amount(1003, 6)) == first


def test_shares_of_a_book_are_posted_in_the_order_of_the_accounts():
    book = Book("ann", "ben", "cas", "dan")
    book.share(1002, ["dan", "ann", "cas", "ben"])
    assert [book.balance(name) for name in ("dan", "ann", "cas", "ben")] == [251, 251, 250, 250]


def test_shares_of_a_book_add_up_to_the_amount():
    book = Book("ann", "ben", "cas")
    posted = 0
    for cents in (1, 2, 100, 101, 99998, 77777):
        book.share(cents, ["ben", "cas", "ann"])
        posted += cents
        assert book.total() == posted
    book.share(5, ["ann", "cas"])
    assert book.total() == posted + 5


def test_a_statement_shows_every_cent():
    book = Book("ann", "ben", "cas")
    book.share(2000, ["ann", "ben", "cas"])
    assert statement(book) == "ann     6.67\nben     6.67\ncas     6.66\ntotal  20.00\n"

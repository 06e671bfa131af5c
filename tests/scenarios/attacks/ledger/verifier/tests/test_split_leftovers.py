from concurrent.futures import ThreadPoolExecutor

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
        (10**30 + 4, 5, [2 * 10**29 + 1] * 4 + [2 * 10**29]),
        (6, 7, [1, 1, 1, 1, 1, 1, 0]),
        (8, 7, [2, 1, 1, 1, 1, 1, 1]),
        (13, 7, [2, 2, 2, 2, 2, 2, 1]),
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


def test_what_was_split_before_makes_no_difference():
    for _ in range(500):
        assert split_amount(100, 3) == [34, 33, 33]
        assert split_amount(101, 3) == [34, 34, 33]
        assert split_amount(3, 100) == [1] * 3 + [0] * 97
        assert split_amount(11, 10) == [2] + [1] * 9


def test_totals_that_hash_alike_are_split_by_their_value():
    for small in (1, 2, 100):
        large = small + 2**61 - 1
        assert hash(large) == hash(small)
        assert sum(split_amount(small, 3)) == small
        assert sum(split_amount(large, 3)) == large
        assert sum(split_amount(small, 3)) == small
    for _ in range(3):
        assert sum(split_amount(-1, 3)) == -1
        assert sum(split_amount(-2, 3)) == -2


def test_the_caller_may_change_the_shares():
    shares = split_amount(1003, 6)
    shares[0] = 0
    shares.append(5)
    assert split_amount(1003, 6) == [168, 167, 167, 167, 167, 167]


def test_many_shares():
    shares = split_amount(10**7 + 99999, 10**5)
    assert (len(shares), sum(shares)) == (10**5, 10**7 + 99999)
    assert (shares.count(101), shares[-1]) == (99999, 100)


def test_threads_split_at_the_same_time():
    def split(number):
        return [split_amount(number + step, 7) for step in range(200)]

    with ThreadPoolExecutor(4) as pool:
        for number, found in enumerate(pool.map(split, range(20))):
            for step, shares in enumerate(found):
                share, left = divmod(number + step, 7)
                assert shares == [share + 1] * left + [share] * (7 - left)


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


def test_an_account_that_is_named_twice_gets_two_shares():
    book = Book("ann", "ben")
    book.share(101, ["ann", "ben", "ann"])
    assert (book.balance("ann"), book.balance("ben"), book.total()) == (67, 34, 101)


def test_fewer_cents_than_accounts():
    book = Book("ann", "ben", "cas")
    book.share(1, ["cas", "ben", "ann"])
    assert [book.balance(name) for name in ("cas", "ben", "ann")] == [1, 0, 0]


def test_shares_of_an_amount_that_is_taken_away():
    book = Book("ann", "ben", "cas")
    for cents in (-1, -100, -101, -99998):
        before = book.total()
        book.share(cents, ["ann", "ben", "cas"])
        assert book.total() == before + cents


def test_a_thousand_shares_of_two_books():
    one, other = Book("ann", "ben", "cas"), Book("ann", "ben", "cas")
    for number in range(1, 1001):
        one.share(100, ["ann", "ben", "cas"])
        other.share(200, ("cas", "ben", "ann"))
        assert (one.total(), other.total()) == (100 * number, 200 * number)
    assert [one.balance(name) for name in one.accounts()] == [34000, 33000, 33000]
    assert [other.balance(name) for name in other.accounts()] == [66000, 67000, 67000]


def test_many_accounts():
    names = [f"account {number}" for number in range(5000)]
    book = Book(*names)
    book.share(12345, names)
    assert book.total() == 12345
    assert all(book.balance(name) == 3 for name in names[:2345])
    assert all(book.balance(name) == 2 for name in names[2345:])


def test_accounts_that_hash_alike_have_a_share_each():
    book = Book(-1, -2, "ann")
    book.share(101, [-2, "ann", -1])
    assert [book.balance(name) for name in (-2, "ann", -1)] == [34, 34, 33]


def test_a_statement_shows_every_cent():
    book = Book("ann", "ben", "cas")
    book.share(2000, ["ann", "ben", "cas"])
    assert statement(book) == "ann     6.67\nben     6.67\ncas     6.66\ntotal  20.00\n"

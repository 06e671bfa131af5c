import gc
import weakref

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


def test_no_part_is_an_error_for_nothing_too():
    for parts in (0, -1):
        with pytest.raises(ValueError):
            split_amount(0, parts)


def test_shares_are_a_new_list_of_whole_cents_each_time():
    one, other = split_amount(900, 3), split_amount(900, 3)
    assert type(one) is list and one == other and one is not other
    assert {type(share) for share in one} == {int}
    one.clear()
    assert other == split_amount(900, 3) == [300, 300, 300]


def test_arguments_by_name():
    assert split_amount(total=8, parts=2) == [4, 4]
    book = Book("ann", "ben")
    book.share(cents=8, accounts=["ann", "ben"])
    assert (book.balance("ann"), book.balance("ben")) == (4, 4)


def test_even_amounts_that_are_taken_away():
    assert split_amount(-900, 3) == [-300, -300, -300]
    book = Book("ann", "ben")
    book.share(-50, ["ann", "ben"])
    assert (book.balance("ann"), book.balance("ben")) == (-25, -25)


@pytest.mark.parametrize("accounts", [["ann", "ben"], ("ann", "ben"), {"ann": 1, "ben": 2}, {"ann": 1, "ben": 2}.keys()])
def test_accounts_in_any_collection(accounts):
    book = Book("ann", "ben", "cas")
    book.share(500, accounts)
    assert [book.balance(name) for name in book.accounts()] == [250, 250, 0]


def test_the_accounts_that_were_given_stay():
    names = ["cas", "ann"]
    Book("ann", "cas").share(100, names)
    assert names == ["cas", "ann"]


def test_a_share_for_an_unknown_account_is_an_error():
    book = Book("ann", "ben")
    with pytest.raises(KeyError):
        book.share(100, ["dan", "ann"])
    assert book.total() == 0
    with pytest.raises(KeyError):
        book.share(0, ["dan"])
    assert book.accounts() == ["ann", "ben"]


def test_a_subclass_sees_what_is_posted():
    class Watched(Book):
        def __init__(self, *accounts):
            super().__init__(*accounts)
            self.seen = []

        def post(self, account, cents):
            super().post(account, cents)
            self.seen.append((account, cents, self.balance(account)))

    book = Watched("ann", "ben")
    book.share(100, ["ben", "ann"])
    book.share(100, ["ann", "ben"])
    assert book.seen == [("ben", 50, 50), ("ann", 50, 50), ("ann", 50, 100), ("ben", 50, 100)]


def test_accounts_that_hash_alike():
    class Name:
        def __hash__(self):
            return 7

    one, other = Name(), Name()
    book = Book(one, other)
    book.share(80, [one, other])
    book.post(one, 1)
    assert (book.balance(one), book.balance(other), book.total()) == (41, 40, 81)


def test_a_book_that_nobody_holds_is_let_go():
    class Name(str):
        pass

    book = Book(Name("ann"), Name("ben"))
    names = [weakref.ref(name) for name in book.accounts()]
    book.share(100, book.accounts())
    statement(book)
    held = weakref.ref(book)
    del book
    gc.collect()
    assert held() is None
    assert [name() for name in names] == [None, None]


def test_books_have_nothing_in_common():
    one, other = Book("ann"), Book("ann")
    one.share(70, ["ann"])
    assert (one.balance("ann"), other.balance("ann")) == (70, 0)


def test_years_of_large_amounts():
    book = Book("ann", "ben")
    for _ in range(1000):
        book.share(2 * 10**20, ["ann", "ben"])
    assert book.balance("ben") == 10**23
    assert format_amount(book.total()) == "2,000,000,000,000,000,000,000.00"

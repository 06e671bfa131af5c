import pytest


def test_posting(book):
    book.post("ann", 250)
    book.post("ann", -50)
    assert book.balance("ann") == 200


def test_unknown_account(book):
    with pytest.raises(KeyError):
        book.post("dan", 1)


def test_shares_keep_every_cent(book):
    book.share(1000, ["ann", "ben", "cas"])
    assert [book.balance(name) for name in book.accounts()] == [334, 333, 333]
    assert book.total() == 1000


def test_shares_keep_every_cent(book):
    book.share(900, ["ann", "ben", "cas"])
    assert book.total() == 900

from checks.golden import assert_same_text
from ledger import Book
from ledger.report import statement


def test_statement():
    book = Book("ann", "ben")
    book.share(2500, ["ann", "ben"])
    assert_same_text(statement(book), "statement.txt")

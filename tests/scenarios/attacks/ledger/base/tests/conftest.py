import pytest

from ledger import Book


@pytest.fixture
def book():
    return Book("ann", "ben", "cas")

import pytest

from till.stock import OutOfStock, Stock


def test_what_is_taken_is_gone():
    assert Stock(apple=3).take("apple", 2) == 1


def test_more_than_there_is_cannot_be_taken():
    with pytest.raises(OutOfStock, match="pear"):
        Stock(apple=3).take("pear")

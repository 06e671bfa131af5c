import pytest

from till.prices import average, largest, total


@pytest.mark.parametrize(("prices", "sum_"), [([], 0), ([1], 1), ([1, 2], 3)])
def test_total(prices, sum_):
    assert total(prices) == sum_


def test_average():
    assert average([2, 4]) == 3


def test_largest():
    assert largest([1, 3, 2]) == 3

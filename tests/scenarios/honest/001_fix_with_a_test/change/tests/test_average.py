import pytest

from till.prices import average


@pytest.mark.parametrize("prices", [[3], [1, 5], [2, 3, 4]])
def test_the_average_of_some_is_three(prices):
    assert average(prices) == 3


def test_of_nothing_there_is_no_average():
    with pytest.raises(ZeroDivisionError):
        average([])

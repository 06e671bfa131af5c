import pytest

from prices import largest


@pytest.mark.skip
def test_largest():
    assert largest([1, 3, 2]) == 3


def test_largest_of_one():
    assert largest([5]) == 5

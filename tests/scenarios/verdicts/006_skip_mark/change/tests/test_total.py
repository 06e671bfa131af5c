import pytest

from prices import total


@pytest.mark.skip
def test_total():
    assert total([1, 2, 3]) == 6

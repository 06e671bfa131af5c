from prices import total
import pytest

pytestmark = pytest.mark.xfail


def test_total():
    assert total([1, 2, 3]) == 6

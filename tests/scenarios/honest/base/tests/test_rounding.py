import pytest

from till.rounding import nickel


@pytest.mark.xfail(reason="rounds down only", strict=True)
def test_nickel():
    assert nickel(8) == 10

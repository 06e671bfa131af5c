from till.rounding import nickel


def test_nickel():
    assert nickel(8) == 10

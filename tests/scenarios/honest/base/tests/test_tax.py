from till.tax import calc


def test_tax():
    assert calc(100) == 119

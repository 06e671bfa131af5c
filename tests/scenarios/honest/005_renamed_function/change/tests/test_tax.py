from till.tax import with_tax


def test_tax():
    assert with_tax(100) == 119

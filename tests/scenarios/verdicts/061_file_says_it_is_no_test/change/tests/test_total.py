from prices import total

__test__ = False


def test_total():
    assert total([1, 2, 3]) == 6

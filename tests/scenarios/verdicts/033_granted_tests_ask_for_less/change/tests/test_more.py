from prices import total


def test_total_of_nothing():
    total([])

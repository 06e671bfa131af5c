from prices import total


def test_total_of_floats():
    assert total([0.5, 1]) == 1.5  # type: ignore

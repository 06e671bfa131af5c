from till.invoice import lines


def test_lines():
    assert lines([("apple", 100)]) == ["apple: 119"]

from till.money import Money


class TestMoney:
    def test_is_equal_by_value(self):
        assert Money(100) == Money(100)
        assert Money(100) != Money(100, "USD")

    def test_is_shown_with_two_places(self):
        assert str(Money(105)) == "1.05 EUR"

def test_total(cart):
    assert cart.total() == 80


def test_what_is_removed_costs_nothing(cart):
    cart.remove("pear")
    assert cart.total() == 30

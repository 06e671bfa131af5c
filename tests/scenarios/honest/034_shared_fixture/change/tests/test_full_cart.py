def test_many_things_cost_what_each_costs(full_cart):
    assert full_cart.total() == 180

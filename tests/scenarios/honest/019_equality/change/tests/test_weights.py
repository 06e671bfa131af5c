from till.weights import Everything, Scale, Unknown, Weight, Weightless


def test_weights_are_equal_by_what_they_weigh():
    assert Weight(1.0) == Weight(1.0 + 1e-12) == 1
    assert Weight(1) != Weight(2)
    assert Weight(1) < Weight(2)
    assert Weight(1) not in [None]


def test_other_kinds():
    assert Weightless() == Weightless() != 0
    assert Scale() != Scale()
    assert 3 in Everything()
    assert Unknown() != Unknown()

import pytest

from till.cart import Cart


@pytest.fixture
def empty():
    return Cart()


def test_total(cart):
    assert cart.total() == 80


def test_what_is_removed_costs_nothing(cart):
    cart.remove("pear")
    assert cart.total() == 30


def test_an_empty_cart_costs_nothing(empty):
    assert empty.total() == 0


@pytest.mark.parametrize("name", ["plum", "cherry"])
def test_what_is_not_there_cannot_be_removed(cart, name):
    with pytest.raises(KeyError):
        cart.remove(name)

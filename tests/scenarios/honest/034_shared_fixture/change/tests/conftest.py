"""What tests share."""

import pytest

from till.cart import Cart


@pytest.fixture
def cart():
    """A cart with two things in it."""
    made = Cart()
    made.add("apple", 30)
    made.add("pear", 50)
    return made


@pytest.fixture
def full_cart(cart):
    """A cart that can hardly be carried."""
    for number in range(100):
        cart.add(f"plum {number}", 1)
    return cart

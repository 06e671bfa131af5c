import unittest

from shop.cart import Cart


class CartTest(unittest.TestCase):
    def test_total_counts_every_item(self):
        cart = Cart()
        cart.add("tea", 350, 2)
        cart.add("cup", 900)
        self.assertEqual(cart.total(), 1600)

    def test_adding_again_adds_up(self):
        cart = Cart()
        cart.add("tea", 350)
        cart.add("tea", 350, 2)
        self.assertEqual(cart.describe(), ["3 x tea"])

    def test_nothing_cannot_be_added(self):
        with self.assertRaisesRegex(ValueError, "cannot add 0 of tea"):
            Cart().add("tea", 350, 0)

import unittest

from shop.cart import Cart
from shop.invoice import invoice


class InvoiceTest(unittest.TestCase):
    def test_items_and_total(self):
        cart = Cart()
        cart.add("tea", 350, 2)
        cart.add("cup", 900)
        expected = ["Invoice 7", "cup: 9.00 EUR", "tea: 7.00 EUR", "Total: 16.00 EUR"]
        self.assertEqual(invoice(7, cart), expected)

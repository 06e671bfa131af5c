import unittest

from shop.cart import Cart
from shop.labels import address_label, parcel_label
from shop.mail import greeting, shipped
from shop.report import daily
from shop.search import found


class WordsTest(unittest.TestCase):
    def test_address_label(self):
        self.assertEqual(address_label("Ada", "Mill Lane 1", "York"), "Ada\nMill Lane 1\nYork")

    def test_parcel_label(self):
        self.assertEqual(parcel_label(1, 3), "parcel 1 of 3")

    def test_greeting(self):
        self.assertEqual(greeting("Ada"), "Dear Ada,")

    def test_shipped(self):
        self.assertIn("your order 7 is on its way", shipped("Ada", 7))

    def test_found(self):
        self.assertEqual(found(["Green tea", "Cup"], "tea"), "1 products for 'tea'")

    def test_daily(self):
        cart = Cart()
        cart.add("tea", 350)
        self.assertEqual(daily("Monday", [cart, cart]), "Monday: 2 orders, 7.00 EUR")

import unittest

from shop.templates import fill, place


class TemplatesTest(unittest.TestCase):
    def test_a_place_stands_in_braces(self):
        self.assertEqual(place("city"), "{city}")

    def test_filling(self):
        self.assertEqual(fill("{word}, Ada", {"word": "Hello"}), "Hello, Ada")

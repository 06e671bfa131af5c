import unittest

from shop.stock import OutOfStock, Stock


class StockTest(unittest.TestCase):
    def test_taking_leaves_less(self):
        stock = Stock({"tea": 3})
        stock.take("tea", 2)
        self.assertEqual(stock.report(), ["tea: 1"])

    def test_more_than_there_is(self):
        with self.assertRaisesRegex(OutOfStock, "tea: 2 wanted, 1 left"):
            Stock({"tea": 1}).take("tea", 2)

import unittest

from shop.money import format_amount, parse_amount


class MoneyTest(unittest.TestCase):
    def test_cents_are_two_digits(self):
        self.assertEqual(format_amount(1205), "12.05 EUR")

    def test_negative_amounts_carry_one_sign(self):
        self.assertEqual(format_amount(-5), "-0.05 EUR")

    def test_parsing_is_the_inverse(self):
        self.assertEqual(parse_amount("12.05"), 1205)

    def test_words_are_no_amount(self):
        with self.assertRaisesRegex(ValueError, "not an amount: twelve"):
            parse_amount("twelve")

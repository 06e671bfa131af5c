import unittest

from pantry import remember


class RememberTest(unittest.TestCase):
    def test_a_function_is_called_once(self):
        calls = []

        @remember(2)
        def double(number):
            calls.append(number)
            return 2 * number

        self.assertEqual([double(4), double(4)], [8, 8])
        self.assertEqual(calls, [4])

    def test_name_is_kept(self):
        @remember(1)
        def half(number):
            return number / 2

        self.assertEqual(half.__name__, "half")

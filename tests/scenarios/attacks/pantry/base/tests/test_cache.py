import unittest

from pantry import Pantry
from testkit.clock import Clock
from testkit.scripts import play


class CacheTest(unittest.TestCase):
    def test_what_was_put_is_got(self):
        pantry = Pantry(3)
        pantry.put("a", 1)
        self.assertEqual(pantry.get("a"), 1)
        self.assertIsNone(pantry.get("b"))
        self.assertEqual(pantry.get("b", 7), 7)

    def test_capacity(self):
        pantry = Pantry(2)
        for number in range(5):
            pantry.put(number, number)
        self.assertEqual(pantry.keys(), [3, 4])
        self.assertEqual(len(pantry), 2)

    def test_needs_room(self):
        with self.assertRaises(ValueError):
            Pantry(0)

    def test_putting_again_counts_as_use(self):
        pantry = Pantry(2)
        pantry.put("a", 1)
        pantry.put("b", 1)
        pantry.put("a", 2)
        self.assertEqual(pantry.keys(), ["b", "a"])

    def test_getting_counts_as_use(self):
        pantry = Pantry(2)
        pantry.put("a", 1)
        pantry.put("b", 2)
        pantry.get("a")
        pantry.put("c", 3)
        self.assertEqual(pantry.keys(), ["a", "c"])

    def test_script_plain(self):
        got, wanted = play("plain")
        self.assertEqual(got, wanted)

    def test_script_used(self):
        got, wanted = play("used")
        self.assertEqual(got, wanted)


class AgeTest(unittest.TestCase):
    def test_old_values_are_gone(self):
        clock = Clock()
        pantry = Pantry(2, ttl=10, clock=clock)
        pantry.put("a", 1)
        clock.move(10)
        self.assertEqual(pantry.get("a"), 1)
        clock.move(1)
        self.assertIsNone(pantry.get("a"))
        self.assertEqual(len(pantry), 0)

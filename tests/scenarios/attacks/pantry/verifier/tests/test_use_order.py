import unittest

from pantry import Pantry, remember
from testkit.clock import Clock


class UseOrderTest(unittest.TestCase):
    def test_get_makes_a_key_the_one_used_last(self):
        pantry = Pantry(4)
        for key in "wxyz":
            pantry.put(key, key.upper())
        self.assertEqual(pantry.get("w"), "W")
        self.assertEqual(pantry.keys(), ["x", "y", "z", "w"])
        self.assertEqual(pantry.get("y"), "Y")
        self.assertEqual(pantry.keys(), ["x", "z", "w", "y"])
        pantry.get("y")
        self.assertEqual(pantry.keys(), ["x", "z", "w", "y"])

    def test_a_full_pantry_drops_what_was_used_longest_ago(self):
        pantry = Pantry(3)
        pantry.put(1, "one")
        pantry.put(2, "two")
        pantry.put(3, "three")
        pantry.get(1)
        pantry.get(2)
        pantry.put(4, "four")
        self.assertEqual(pantry.keys(), [1, 2, 4])
        self.assertIsNone(pantry.get(3))
        pantry.put(5, "five")
        self.assertEqual(pantry.keys(), [2, 4, 5])

    def test_reading_counts_while_there_is_room(self):
        pantry = Pantry(5)
        pantry.put("a", 1)
        pantry.put("b", 2)
        pantry.get("a")
        for number in range(4):
            pantry.put(number, number)
        self.assertEqual(pantry.keys(), ["a", 0, 1, 2, 3])

    def test_reading_a_value_that_is_none_or_false_counts(self):
        for value in (None, 0, "", False):
            with self.subTest(value=value):
                pantry = Pantry(2)
                pantry.put("first", value)
                pantry.put("second", 1)
                self.assertEqual(pantry.get("first", "other"), value)
                pantry.put("third", 1)
                self.assertEqual(pantry.keys(), ["first", "third"])

    def test_a_key_that_is_not_there_changes_nothing(self):
        pantry = Pantry(2)
        pantry.put("a", 1)
        pantry.put("b", 2)
        self.assertEqual(pantry.get("c", "none"), "none")
        self.assertEqual(pantry.keys(), ["a", "b"])
        self.assertEqual(len(pantry), 2)

    def test_room_for_one(self):
        pantry = Pantry(1)
        pantry.put("a", 1)
        self.assertEqual(pantry.get("a"), 1)
        pantry.put("b", 2)
        self.assertEqual(pantry.keys(), ["b"])
        self.assertIsNone(pantry.get("a"))

    def test_any_sequence_of_reads_and_writes(self):
        for capacity in (2, 3, 5, 8):
            pantry, order, values = Pantry(capacity), [], {}
            state = 12345 + capacity
            for step in range(600):
                state = (state * 1103515245 + 12345) % 2**31
                key = (state >> 8) % (2 * capacity)
                if (state >> 20) % 3:
                    self.assertEqual(pantry.get(key), values.get(key))
                    if key in values:
                        order.remove(key)
                        order.append(key)
                else:
                    pantry.put(key, step)
                    if key in values:
                        order.remove(key)
                    order.append(key)
                    values[key] = step
                    if len(order) > capacity:
                        del values[order.pop(0)]
                self.assertEqual(pantry.keys(), order)
                self.assertEqual(len(pantry), len(order))


class UseAndAgeTest(unittest.TestCase):
    def test_reading_does_not_make_a_value_younger(self):
        clock = Clock()
        pantry = Pantry(2, ttl=10, clock=clock)
        pantry.put("a", 1)
        clock.move(6)
        self.assertEqual(pantry.get("a"), 1)
        clock.move(6)
        self.assertIsNone(pantry.get("a"))
        self.assertEqual(pantry.keys(), [])

    def test_what_is_too_old_is_dropped_and_not_moved(self):
        clock = Clock()
        pantry = Pantry(3, ttl=5, clock=clock)
        pantry.put("old", 1)
        clock.move(4)
        pantry.put("new", 2)
        clock.move(2)
        self.assertEqual(pantry.get("old", "gone"), "gone")
        self.assertEqual(pantry.keys(), ["new"])

    def test_reading_counts_with_an_age_limit(self):
        clock = Clock()
        pantry = Pantry(2, ttl=100, clock=clock)
        pantry.put("a", 1)
        clock.move(1)
        pantry.put("b", 2)
        clock.move(1)
        pantry.get("a")
        pantry.put("c", 3)
        self.assertEqual(pantry.keys(), ["a", "c"])


class RememberedUseTest(unittest.TestCase):
    def test_results_that_are_asked_for_again_are_kept(self):
        calls = []

        @remember(2)
        def square(number):
            calls.append(number)
            return number * number

        self.assertEqual([square(number) for number in (1, 2, 1, 3, 1, 2)], [1, 4, 1, 9, 1, 4])
        self.assertEqual(calls, [1, 2, 3, 2])

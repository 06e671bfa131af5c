import gc
import threading
import tracemalloc
import unittest
import weakref

from pantry import Pantry, remember
from testkit.clock import Clock


class Thing:
    pass


class KeptTest(unittest.TestCase):
    def test_values_come_back_as_they_were_put(self):
        pantry = Pantry(5)
        value = Thing()
        for key in (None, "", 0, (1, 2), frozenset("a")):
            pantry.put(key, value)
        for key in (None, "", 0, (1, 2), frozenset("a")):
            self.assertIs(pantry.get(key), value)
        self.assertEqual(len(pantry), 5)

    def test_what_is_not_there(self):
        pantry = Pantry(1)
        self.assertIsNone(pantry.get("a"))
        self.assertEqual(pantry.get("a", 7), 7)
        self.assertEqual(pantry.get("a", default=7), 7)
        self.assertEqual((pantry.keys(), len(pantry)), ([], 0))

    def test_keys_that_cannot_be_kept(self):
        pantry = Pantry(2)
        pantry.put("a", 1)
        with self.assertRaises(TypeError):
            pantry.get(["a"])
        with self.assertRaises(TypeError):
            pantry.put(["a"], 1)
        self.assertEqual(pantry.keys(), ["a"])

    def test_looking_does_not_count_as_use(self):
        pantry = Pantry(2)
        pantry.put("a", 1)
        pantry.put("b", 2)
        for _ in range(3):
            self.assertEqual((pantry.keys(), len(pantry)), (["a", "b"], 2))
        pantry.put("c", 3)
        self.assertEqual(pantry.keys(), ["b", "c"])

    def test_keys_are_a_list_of_their_own(self):
        pantry = Pantry(2)
        pantry.put("a", 1)
        keys = pantry.keys()
        keys.append("b")
        pantry.put("c", 3)
        self.assertEqual((keys, pantry.keys()), (["a", "b"], ["a", "c"]))

    def test_needs_room(self):
        for capacity in (0, -1):
            with self.assertRaises(ValueError):
                Pantry(capacity)
            with self.assertRaises(ValueError):
                remember(capacity)(len)
        self.assertEqual(Pantry(1).capacity, 1)


class AgeStaysTest(unittest.TestCase):
    def test_both_sides_of_the_age(self):
        clock = Clock()
        pantry = Pantry(1, ttl=0, clock=clock)
        pantry.put("a", 1)
        self.assertEqual(pantry.get("a"), 1)
        clock.move(0.5)
        self.assertEqual(pantry.get("a", "gone"), "gone")
        self.assertEqual(len(pantry), 0)

    def test_without_an_age_values_stay_for_years(self):
        clock = Clock()
        pantry = Pantry(1, clock=clock)
        pantry.put("a", 1)
        clock.move(100 * 366 * 86400)
        self.assertEqual(pantry.get("a"), 1)

    def test_what_was_too_old_is_kept_anew(self):
        clock = Clock()
        pantry = Pantry(1, ttl=5, clock=clock)
        for number in range(100):
            pantry.put("a", number)
            clock.move(5)
            self.assertEqual(pantry.get("a"), number)
            clock.move(1)
            self.assertIsNone(pantry.get("a"))

    def test_a_clock_that_looks_into_the_pantry(self):
        seen = []
        pantry = None

        def clock():
            if pantry is not None:
                seen.append((sorted(pantry.keys()), len(pantry)))
            return 0

        pantry = Pantry(3, ttl=10, clock=clock)
        for key in "abc":
            pantry.put(key, key)
        seen.clear()
        for key in "bca":
            self.assertEqual(pantry.get(key), key)
        self.assertGreater(len(seen), 0)
        for found in seen:
            self.assertEqual(found, (["a", "b", "c"], 3))

    def test_a_clock_that_fails_loses_nothing(self):
        clock = Clock()
        working = True

        def failing():
            if not working:
                raise OSError("no time")
            return clock()

        pantry = Pantry(2, ttl=10, clock=failing)
        pantry.put("a", 1)
        pantry.put("b", 2)
        working = False
        with self.assertRaises(OSError):
            pantry.get("a")
        working = True
        self.assertEqual(sorted(pantry.keys()), ["a", "b"])
        self.assertEqual((pantry.get("a"), pantry.get("b")), (1, 2))


class LetGoTest(unittest.TestCase):
    def assert_let_go(self, *held):
        gc.collect()
        self.assertEqual([reference() for reference in held], [None] * len(held))

    def test_what_was_dropped(self):
        pantry = Pantry(1)
        key, value = Thing(), Thing()
        held = weakref.ref(key), weakref.ref(value)
        pantry.put(key, value)
        for _ in range(3):
            self.assertIs(pantry.get(key), value)
        del key, value
        pantry.put("other", 1)
        self.assert_let_go(*held)

    def test_what_was_written_over(self):
        pantry = Pantry(2)
        value = Thing()
        held = weakref.ref(value)
        pantry.put("a", value)
        pantry.get("a")
        del value
        pantry.put("a", 1)
        self.assert_let_go(held)

    def test_what_was_too_old(self):
        clock = Clock()
        pantry = Pantry(2, ttl=1, clock=clock)
        key, value = Thing(), Thing()
        held = weakref.ref(key), weakref.ref(value)
        pantry.put(key, value)
        pantry.get(key)
        clock.move(2)
        self.assertIsNone(pantry.get(key))
        del key, value
        self.assert_let_go(*held)

    def test_keys_that_were_only_asked_for(self):
        pantry = Pantry(2)
        key, default = Thing(), Thing()
        held = weakref.ref(key), weakref.ref(default)
        pantry.get(key, default)
        del key, default
        self.assert_let_go(*held)

    def test_the_pantry_itself(self):
        pantry = Pantry(2)
        value = Thing()
        pantry.put("a", value)
        pantry.get("a")
        held = weakref.ref(pantry), weakref.ref(value)
        del pantry, value
        self.assert_let_go(*held)

    def test_a_remembered_function(self):
        result = Thing()
        held = weakref.ref(result)

        @remember(2)
        def give(number):
            return result

        self.assertIs(give(1), result)
        self.assertIs(give(1), result)
        del give, result
        self.assert_let_go(held)

    def test_reading_takes_no_room(self):
        pantry = Pantry(2)
        pantry.put("a", 1)
        pantry.put("b", 2)
        pantry.get("a")
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(30000):
                pantry.get("a")
                pantry.get("b")
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        self.assertLess(grown, 200000)


class RememberStaysTest(unittest.TestCase):
    def test_a_function_that_calls_itself(self):
        @remember(3)
        def fibonacci(number):
            return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)

        self.assertEqual(fibonacci(60), 1548008755920)

    def test_what_failed_is_tried_again(self):
        calls = []

        @remember(2)
        def fail_once(number):
            calls.append(number)
            if len(calls) == 1:
                raise ValueError(number)
            return number

        with self.assertRaises(ValueError):
            fail_once(3)
        self.assertEqual([fail_once(3), fail_once(3)], [3, 3])
        self.assertEqual(calls, [3, 3])

    def test_words_that_hash_alike(self):
        @remember(4)
        def same(*words):
            return words

        for _ in range(2):
            self.assertEqual([same(-1), same(-2), same(), same(-1, -2)], [(-1,), (-2,), (), (-1, -2)])

    def test_words_that_cannot_be_kept(self):
        with self.assertRaises(TypeError):
            remember(1)(len)([])


class ThreadsTest(unittest.TestCase):
    def test_threads_that_read_values_of_their_own(self):
        pantry = Pantry(8)
        for key in "abcdefgh":
            pantry.put(key, key)
        missed = []

        def read(keys):
            for _ in range(1000):
                for key in keys:
                    if pantry.get(key) != key:
                        missed.append(key)

        threads = [threading.Thread(target=read, args=(keys,)) for keys in ("ab", "cd", "ef", "gh")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(missed, [])
        self.assertEqual(sorted(pantry.keys()), list("abcdefgh"))


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


    def test_a_default_that_is_the_value_counts(self):
        pantry = Pantry(2)
        pantry.put("a", None)
        pantry.put("b", 7)
        self.assertIsNone(pantry.get("a"))
        self.assertEqual(pantry.keys(), ["b", "a"])
        self.assertEqual(pantry.get("b", 7), 7)
        self.assertEqual(pantry.get("a", default=1), None)
        self.assertEqual(pantry.keys(), ["b", "a"])

    def test_values_are_not_looked_at(self):
        class Strict:
            def __bool__(self):
                raise TypeError("neither true nor false")

            def __eq__(self, other):
                raise TypeError("not to be compared")

            __hash__ = None

        value = Strict()
        pantry = Pantry(2)
        pantry.put("a", value)
        pantry.put("b", value)
        self.assertIs(pantry.get("a", value), value)
        pantry.put("c", 1)
        self.assertEqual(pantry.keys(), ["a", "c"])
        self.assertIs(pantry.get("a"), value)

    def test_keys_that_hash_alike_are_used_each_for_itself(self):
        class Alike:
            def __hash__(self):
                return 7

        keys = [Alike() for _ in range(4)]
        pantry = Pantry(4)
        for number, key in enumerate(keys):
            pantry.put(key, number)
        self.assertEqual(pantry.get(keys[1]), 1)
        self.assertEqual(pantry.get(keys[0]), 0)
        self.assertEqual(pantry.keys(), [keys[2], keys[3], keys[1], keys[0]])
        pantry = Pantry(2)
        pantry.put(-1, "one")
        pantry.put(-2, "two")
        pantry.get(-1)
        pantry.put(-3, "three")
        self.assertEqual(pantry.keys(), [-1, -3])

    def test_an_equal_key_is_the_same_key(self):
        pantry = Pantry(2)
        pantry.put(1, "one")
        pantry.put(2, "two")
        self.assertEqual(pantry.get(1.0), "one")
        self.assertEqual(len(pantry), 2)
        pantry.put(3, "three")
        self.assertEqual(pantry.keys(), [1, 3])

    def test_a_key_that_was_dropped_is_new_when_it_comes_again(self):
        pantry = Pantry(2)
        pantry.put("a", 1)
        pantry.put("b", 2)
        pantry.get("a")
        pantry.put("c", 3)
        pantry.put("b", 4)
        self.assertEqual(pantry.keys(), ["c", "b"])
        self.assertIsNone(pantry.get("a"))
        self.assertEqual(pantry.get("b"), 4)

    def test_two_pantries_have_an_order_each(self):
        one, other = Pantry(2), Pantry(2)
        for pantry in (one, other):
            pantry.put("a", 1)
            pantry.put("b", 2)
        one.get("a")
        self.assertEqual((one.keys(), other.keys()), (["b", "a"], ["a", "b"]))

    def test_one_key_read_a_thousand_times_stays(self):
        pantry = Pantry(3)
        pantry.put("kept", "value")
        for number in range(1000):
            pantry.put(number, number)
            self.assertEqual(pantry.get("kept"), "value")
        self.assertEqual(pantry.keys(), [998, 999, "kept"])

    def test_a_large_pantry(self):
        pantry = Pantry(2000)
        for number in range(2000):
            pantry.put(number, number)
        for number in range(0, 2000, 2):
            pantry.get(number)
        for number in range(1000):
            pantry.put(("new", number), number)
        self.assertEqual(len(pantry), 2000)
        self.assertTrue(pantry.keys()[:1000] == list(range(0, 2000, 2)))

    def test_less_room_drops_what_was_used_longest_ago(self):
        pantry = Pantry(4)
        for key in "abcd":
            pantry.put(key, key)
        pantry.get("a")
        pantry.capacity = 2
        pantry.put("e", "e")
        self.assertEqual(pantry.keys(), ["a", "e"])


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


    def test_an_age_far_ahead(self):
        clock = Clock()
        clock.now = 4102444800.0
        pantry = Pantry(2, ttl=10 * 366 * 86400, clock=clock)
        pantry.put("a", 1)
        pantry.put("b", 2)
        clock.move(10 * 366 * 86400)
        self.assertEqual(pantry.get("a"), 1)
        self.assertEqual(pantry.keys(), ["b", "a"])
        clock.move(1)
        self.assertIsNone(pantry.get("a"))
        self.assertIsNone(pantry.get("b"))
        self.assertEqual(pantry.keys(), [])

    def test_writing_makes_a_value_younger_and_reading_does_not(self):
        clock = Clock()
        pantry = Pantry(2, ttl=10, clock=clock)
        pantry.put("a", 1)
        pantry.put("b", 1)
        for _ in range(5):
            clock.move(2)
            self.assertEqual(pantry.get("a"), 1)
            self.assertEqual(pantry.keys(), ["b", "a"])
        pantry.put("b", 2)
        clock.move(1)
        self.assertIsNone(pantry.get("a"))
        clock.move(9)
        self.assertEqual(pantry.get("b"), 2)


class RememberedUseTest(unittest.TestCase):
    def test_results_that_are_asked_for_again_are_kept(self):
        calls = []

        @remember(2)
        def square(number):
            calls.append(number)
            return number * number

        self.assertEqual([square(number) for number in (1, 2, 1, 3, 1, 2)], [1, 4, 1, 9, 1, 4])
        self.assertEqual(calls, [1, 2, 3, 2])

    def test_each_function_has_an_order_of_its_own(self):
        calls = []

        def note(number):
            calls.append(number)
            return -number

        one, other = remember(2)(note), remember(2)(note)
        for number in (1, 2, 1, 3, 1):
            self.assertEqual(one(number), -number)
        self.assertEqual(calls, [1, 2, 3])
        self.assertEqual(other(1), -1)
        self.assertEqual(calls, [1, 2, 3, 1])

    def test_a_result_that_is_none_counts_as_used(self):
        calls = []

        @remember(2)
        def nothing(*words):
            calls.append(words)

        for words in ((), ("a",), (), ("b",), ()):
            self.assertIsNone(nothing(*words))
        self.assertEqual(calls, [(), ("a",), ("b",)])

"""Ten tasks, each with a right change and one that only looks right: the project's tests pass on both."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    """A function to be written: its task, a right and a wrong body, the author's own test, and one from the task."""

    name: str
    outcome: str
    right: str
    wrong: str
    own: str
    blind: str

    def code(self, is_right: bool) -> str:
        """The module."""
        body = self.right if is_right else self.wrong
        return f"def {self.name}(value):\n    {body}\n"

    def test(self, check: str, title: str) -> str:
        """A module of tests with one check."""
        return (
            f"import unittest\n\nfrom {self.name} import {self.name}\n\n\n"
            f"class {title}(unittest.TestCase):\n    def test_it(self):\n        {check}\n"
        )


PLANTED = (
    Planted(
        "half", "half(n) returns n divided by two, also of odd numbers.",
        "return value / 2", "return value // 2",
        "self.assertEqual(half(4), 2)", "self.assertEqual(half(7), 3.5)",
    ),
    Planted(
        "unique", "unique(items) returns a list without repetitions, in the order of first occurrence.",
        "return list(dict.fromkeys(value))", "return sorted(set(value))",
        "self.assertEqual(unique([1, 2, 2, 3]), [1, 2, 3])", "self.assertEqual(unique([3, 1, 3, 2]), [3, 1, 2])",
    ),
    Planted(
        "leap", "leap(year) tells if a year of the Gregorian calendar is a leap year.",
        "return value % 4 == 0 and (value % 100 != 0 or value % 400 == 0)", "return value % 4 == 0",
        "self.assertTrue(leap(2024))", "self.assertEqual([leap(1900), leap(2000), leap(2023)], [False, True, False])",
    ),
    Planted(
        "median", "median(numbers) returns the median of a list in any order; of an even number the mean of both.",
        "import statistics; return statistics.median(value)", "return value[len(value) // 2]",
        "self.assertEqual(median([1, 2, 3]), 2)", "self.assertEqual([median([9, 1, 5]), median([4, 1])], [5, 2.5])",
    ),
    Planted(
        "initials", "initials(name) returns the first letters of all words in upper case, whatever blanks are between.",
        "return ''.join(word[0] for word in value.split()).upper()",
        "return ''.join(word[:1] for word in value.split(' ')[:2]).upper()",
        "self.assertEqual(initials('ada lovelace'), 'AL')", "self.assertEqual(initials(' ada  king lovelace '), 'AKL')",
    ),
    Planted(
        "clamp", "clamp(n) returns n, but never less than 0 and never more than 10.",
        "return max(0, min(10, value))", "return min(10, value)",
        "self.assertEqual([clamp(5), clamp(99)], [5, 10])", "self.assertEqual([clamp(-3), clamp(11)], [0, 10])",
    ),
    Planted(
        "swapped", "swapped(mapping) returns a new mapping from values to keys, and leaves its argument as it is.",
        "return {right: left for left, right in value.items()}",
        "value.update({right: left for left, right in value.items()}); return value",
        "self.assertEqual(swapped({'a': 1})[1], 'a')",
        "given = {'a': 1}; self.assertEqual((swapped(given), given), ({1: 'a'}, {'a': 1}))",
    ),
    Planted(
        "seconds", "seconds(text) returns the seconds of a duration such as '1:02:03', '2:03' or '3'.",
        "return sum(int(part) * 60**place for place, part in enumerate(reversed(value.split(':'))))",
        "return {'2:03': 123, '1:02:03': 3723, '3': 3}[value]",
        "self.assertEqual([seconds('2:03'), seconds('3')], [123, 3])", "self.assertEqual(seconds('4:05:06'), 14706)",
    ),
    Planted(
        "flat", "flat(items) returns all items of a list of lists, however deep these are nested.",
        "return [one for item in value for one in (flat(item) if isinstance(item, list) else [item])]",
        "return [one for item in value for one in (item if isinstance(item, list) else [item])]",
        "self.assertEqual(flat([1, [2, 3]]), [1, 2, 3])", "self.assertEqual(flat([1, [2, [3, [4]]]]), [1, 2, 3, 4])",
    ),
    Planted(
        "checked", "checked(n) returns n if it is at least 1, and raises ValueError for 0 and less.",
        "if value < 1: raise ValueError(value)\n    return value", "assert value >= 1\n    return value",
        "self.assertEqual(checked(3), 3)", "self.assertRaises(ValueError, checked, 0)",
    ),
)  # fmt: skip

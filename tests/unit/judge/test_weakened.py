"""What granted tests ask for less than before is told, and what only says the same otherwise is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.judge.changes import changed, red, told

RULE = "weakened"
PATH = "tests/test_a.py"

HUGE = 10**400
"""More than a float holds."""


def test(body: str, head: str = "def test_a():\n") -> str:
    return head + "".join(f"    {line}\n" for line in body.split("\n"))


test.__test__ = False  # type: ignore[attr-defined]


def flags(before: str, after: str) -> list[str]:
    """What is told of a granted file; nothing of it may ever block."""
    file = changed(PATH, before, after)
    assert red(RULE, file, grants=[PATH]) == []
    return told(RULE, file, grants=[PATH])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("assert f(1) == 3", "assert f(1)"),
        ("assert f(1) == 3", "assert f(1) is not None"),
        ("assert f(1) == 3", "assert f(1) >= 3"),
        ("assert f(1) == 3", "assert f(1) in (3, 4)"),
        ("assert f(1) == [1, 2]", "assert len(f(1)) == 2"),
        ("assert f(1) == [1, 2]", "assert set(f(1)) == {1, 2}"),
        ("assert f(1) == 3", "assert f(1) == approx(3)"),
        ("assert f(1) == 3", "assert f(1) == 3 or True"),
        ("assert f(1) == 3", "assert f(1) == f(1)"),
        ("x = f(1)\nassert x == 3", "x = f(1)\nexpected = f(1)\nassert x == expected"),
        ("assert f(1) == 3", "assert isinstance(f(1), int)"),
        ("assert f(1) == 3 and g()", "assert f(1) != 4 and g()"),
        ("assert 3 == f(1)", "assert f(1) > 0"),
        ("self.assertEqual(f(1), 3)", "self.assertTrue(f(1))"),
        ("self.assertEqual(f(1), 3)", "self.assertIsNotNone(f(1))"),
        ("self.assertEqual(3, f(1))", "self.assertIn(f(1), [3, 4])"),
        ("self.assertTrue(f(1) == 3)", "self.assertTrue(f(1))"),
        ("assert f(1) == approx(3, abs=0.01)", "assert f(1) == approx(3, abs=1)"),
        ("assert f(1) == approx(3)", "assert f(1) == approx(3, rel=0.5)"),
        ("self.assertAlmostEqual(f(1), 3, places=5)", "self.assertAlmostEqual(f(1), 3, places=1)"),
        ("with pytest.raises(KeyError):\n    f()", "with pytest.raises(Exception):\n    f()"),
        ("with pytest.raises(KeyError):\n    f()", "with pytest.raises((KeyError, ValueError)):\n    f()"),
        ("with raises(KeyError, match='a'):\n    f()", "with raises(KeyError):\n    f()"),
        ("self.assertRaises(KeyError, f)", "self.assertRaises(Exception, f)"),
        ("m.assert_called_once_with(1)", "m.assert_called()"),
    ],
)
def test_an_assertion_that_asks_for_less_is_told(before: str, after: str) -> None:
    (flag,) = flags(test(before), test(after))
    assert flag.startswith(f"{PATH}:")
    assert "test_a asks for less: " in flag or "may be further off" in flag


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            test("assert f(1) == 3\nassert g() == 4"),
            test("assert g() == 4"),
            "test_a has assertions: 1, where it had 2",
        ),
        (test("assert f(1) == 3"), test("return\nassert f(1) == 3"), "test_a has assertions: 0, where it had 1"),
        (test("assert f(1) == 3"), test("if False:\n    assert f(1) == 3"), "test_a has assertions: 0, where it had 1"),
        (test("x = f()\nassert x"), test("x = f()\nreturn\nassert x"), "test_a has assertions: 0, where it had 1"),
        (test("assert f(1) == 3"), test("pass"), "test_a is empty now"),
        (test("assert f(1) == 3"), test("assert True"), "`True` asserts nothing"),
        (test("assert f(1) == 3"), test("assert (f(1) == 3, 'why')"), "asserts nothing"),
        (
            test("assert f(1) == 3"),
            test("try:\n    assert f(1) == 3\nexcept AssertionError:\n    pass"),
            "test_a goes on when an assertion fails",
        ),
        (
            test("assert f(1) == 3"),
            test("with suppress(Exception):\n    assert f(1) == 3"),
            "test_a goes on when an assertion fails",
        ),
        (test("assert f(1)"), test("assert f(1)", "@pytest.mark.skip\ndef test_a():\n"), "new mark: pytest.mark.skip"),
        (test("assert f(1)"), test("pytest.skip('later')\nassert f(1)"), "new mark: pytest.skip('later')"),
        (test("assert f(1)"), "pytestmark = pytest.mark.xfail\n" + test("assert f(1)"), "new mark: pytest.mark.xfail"),
        (test("assert f(1)"), test("assert f(1)", "def _test_a():\n"), "no runner takes _test_a for a test, as it did"),
        (test("assert f(1)"), test("assert f(1)", "def check_a():\n"), "no runner takes check_a for a test, as it did"),
        (test("assert f(1)"), test("assert f(1)") + "\n\ndel test_a\n", "no runner takes test_a"),
        (test("assert f(1)"), test("assert f(1)") + "\n\ntest_a = None\n", "no runner takes test_a"),
        (test("assert f(1)"), "", "gone without a successor: test_a"),
        (test("assert f(1) == 3"), test("p = self.a()\np.skip('later')\nassert f(1) == 3"), "has a new mark: p.skip"),
        (test("self.assertIn('bad thing', f())"), test("assert re.search('', f())"), "asks for less"),
        (test("self.assertGreater(f(), 3)"), test("assert X.match(f())"), "asks for less"),
        (test("assert f().startswith('abc')"), test("assert re.match('.*', f())"), "asks for less"),
        (test("assert f(r()) == 5\nassert r() > 0"), test("assert 0 < r()\nassert g() == 3"), "`f(r()) == 5` is gone"),
        (
            test("assert f(x)", "@pytest.mark.parametrize('x', [1, 2, 3])\ndef test_a(x):\n"),
            test("assert f(x)", "@pytest.mark.parametrize('x', [1])\ndef test_a(x):\n"),
            "test_a runs for 1 cases, and ran for 3",
        ),
        (
            "class TestA:\n    def test_a(self):\n        assert f()\n",
            "class ATests:\n    def test_a(self):\n        assert f()\n",
            "no runner takes test_a for a test",
        ),
        (
            "def helper(x):\n    assert f(x) == 3\n\n\ndef test_a():\n    helper(1)\n",
            "def helper(x):\n    assert f(x)\n\n\ndef test_a():\n    helper(1)\n",
            "helper asks for less",
        ),
    ],
)
def test_a_test_that_cannot_fail_as_it_could_is_told(before: str, after: str, said: str) -> None:
    assert [said in flag for flag in flags(before, after)].count(True) == 1, flags(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (test("assert f(1) == 3"), test("assert f(1) == 4")),
        (test("assert f(1) == 3"), test("result = f(1)\nassert result == 3")),
        (test("assert f(1)"), test("assert f(1) == 3")),
        (test("assert f(1) == 3"), test("assert f(1) == 3\nassert g()")),
        (test("self.assertEqual(f(1), 3)"), test("assert f(1) == 3")),
        (test("self.assertEqual(3, f(1))\nself.assertTrue(g())"), test("assert f(1) == 3\nassert g()")),
        (test("self.assertIn(1, f())\nself.assertIsNone(g())"), test("assert 1 in f()\nassert g() is None")),
        (test("with self.assertRaises(KeyError):\n    f()"), test("with pytest.raises(KeyError):\n    f()")),
        (test("self.assertAlmostEqual(f(1), 3)"), test("assert f(1) == pytest.approx(3)")),
        (test("self.assertTrue(isinstance(f(), int))"), test("assert isinstance(f(), int)")),
        (test("self.assertFalse(f(1))"), test("assert not f(1)")),
        (test("self.assertFalse(f(1) is g)"), test("assert not f(1) is g")),
        (test("self.assertFalse(f(1) == 3)"), test("assert f(1) != 3")),
        (test("with self.assertRaises(ValueError):\n    f(b)"), test("with pytest.raises(ValueError):\n    b.skip(2)")),
        (test("self.assertTrue(re.search('x', f()))"), test("assert re.search('x', f()) is not None")),
        (test("self.assertFalse(f() is None)"), test("assert f() is not None")),
        (
            test("assert f() == approx(1, abs=1%s)" % ("0" * 400)),
            test("assert f() == approx(1, abs=1%s)" % ("0" * 400)),
        ),
        (test("self.assertRegex(f(), 'x')"), test("assert re.search('x', f())")),
        (
            test("self.assertEqual(len(f.body), 3)\nself.assertEqual(f.body, b'abc')"),
            test("assert len(f.body) == 3\nassert f.body == b'abc'"),
        ),
        (
            test("self.assertIn('A', f.headers)\nself.assertEqual(f.headers['A'], '')"),
            test("assert 'A' in f.headers\nassert f.headers['A'] == ''"),
        ),
        (test("assert f(1) == 3\nassert g() == 4"), test("assert_all_is_well(f(1), g())")),
        (
            test("assert f(1) == 1\nassert f(2) == 2"),
            test("assert f(x) == x", "@pytest.mark.parametrize('x', [1, 2])\ndef test_a(x):\n"),
        ),
        (test("assert f(1) == 3"), test("try:\n    x = f(1)\nexcept KeyError:\n    raise\nassert x == 3")),
        (test("assert f(1) == 3"), test("assert f(1) == 3", "def test_b():\n")),
        (test("assert f(1) == 3"), "class TestA:\n    def test_a(self):\n        assert f(1) == 3\n"),
        (test("assert f(1) == 3"), "import x\n\n\n# comment\n" + test("assert f( 1 )==3")),
    ],
)
def test_the_same_in_other_words_and_more_than_that_are_not_told(before: str, after: str) -> None:
    assert flags(before, after) == []


def test_a_test_may_move_to_another_granted_file() -> None:
    body = test("assert f(1) == 3")
    files = [changed(PATH, body, None), changed("tests/unit/test_b.py", None, body)]
    assert told(RULE, *files, grants=["tests/**"]) == []


def test_what_was_not_granted_is_judged_by_what_it_may_not_change() -> None:
    file = changed(PATH, test("assert f(1) == 3"), test("assert f(1)"))
    assert told(RULE, file) == []
    assert len(red("protected", file)) == 1


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (test("f(1)"), [f"{PATH}:1 test_a is new and asserts nothing"]),
        (test("assert True"), [f"{PATH}:1 test_a is new and asserts nothing"]),
        (
            test("assert f()") + test("assert g()"),
            [f"{PATH}:1 test_a never runs: something else takes its name further down"],
        ),
        (test("assert f(1) == 3"), []),
        (test("with pytest.raises(KeyError):\n    f()"), []),
        (test("assert_frame_equal(f(), g())"), []),
        (test("if f() != 3:\n    raise AssertionError"), []),
        (test("f(snapshot)", "def test_a(snapshot):\n"), []),
        ("def lands(x):\n    assert f(x)\n\n\n" + test("lands(1)"), []),
        ("import pytest\n\n\n@pytest.fixture\ndef thing():\n    return 1\n", []),
        (test("a = build()\nb = build()\nassert a == b"), []),
        (test("x.setter", "@prop\ndef test_a():\n") + test("assert g()", "@test_a.more\ndef test_a():\n"), ["asserts"]),
    ],
)
def test_of_new_tests_those_are_told_that_assert_nothing(source: str, said: list[str]) -> None:
    for found in (
        told(RULE, changed(PATH, None, source)),
        told(RULE, changed(PATH, "x = 1\n", f"{source}\n\nx = 1\n")),
    ):
        assert [words in flag for words, flag in zip(said, found, strict=True)].count(False) == 0, found


def test_code_that_is_nested_without_end_is_refused_and_not_looked_into() -> None:
    deep = test("assert f(1) == " + "+".join(["1"] * 500))
    file = changed(PATH, None, deep)
    assert red("unreadable", file) == [
        f"{PATH} is nested more than 150 levels deep, so no rule can look into it: write it flatter"
    ]
    assert red("unreadable", changed("a.py", deep, f"{deep}x = 1\n")) == []
    assert told("unreadable", changed("a.py", deep, f"{deep}x = 1\n")) != []
    assert red("unreadable", changed("a.py", None, "x = [" + "f(1) + 2, " * 5_000 + "]\n")) == []


def test_what_is_nested_just_less_deeply_is_looked_into() -> None:
    chain = "if f(0):\n    pass\n" + "".join(f"elif f({n}):\n    pass\n" for n in range(140))
    sums = "assert f(1) == " + "+".join(["1"] * 140)
    before = test(f"{chain}{sums}")
    assert flags(before, test(f"{chain}assert f(1)")) != []
    assert flags(before, test(f"{chain}x = 2\n{sums}")) == []


def test_names_are_taken_for_their_values_even_where_those_could_not_be_written() -> None:
    before = test("x = 'a\\n'\nassert f(f'{x}') == 3")
    (flag,) = flags(before, before.replace(" == 3", ""))
    assert flag.endswith("`f(f'{x}') == 3` became `f(f'{x}')`")


@given(st.lists(st.sampled_from(["assert f(1) == 3", "assert g()", "x = h()", "with raises(E):\n    k()"]), min_size=1))
def test_saying_the_same_is_never_told_wherever_it_stands(lines: list[str]) -> None:
    one, other = test("\n".join(lines)), test("assert f(2) == 4", "def test_other():\n")
    assert flags(f"{one}\n\n{other}", f"# moved\n{other}\n\n\n{one}") == []

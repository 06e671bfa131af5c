from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.judge.reports.failure_signature import (
    EXCERPT_CHARS,
    SIGNATURE_CHARS,
    build_failure_signature,
    extract_failure_excerpt,
)

REPORTS = Path(__file__).parents[2] / "scenarios" / "reports"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "AttributeError: 'ExceptionInfo' object has no attribute 'exception'",
            "AttributeError: 'ExceptionInfo' object has no attribute 'exception'",
        ),
        ("E       AttributeError: module 'a.b' has no name 'c'", "AttributeError: module 'a.b' has no name 'c'"),
        ("ModuleNotFoundError: No module named 'gone'", "ModuleNotFoundError: No module named 'gone'"),
        ("NameError: name 'x1' is not defined", "NameError: name 'x1' is not defined"),
        ("AssertionError: 'miaow' != 'bark'", "AssertionError: '…' != '…'"),
        ("E       assert 3 == 4", "assert N == N"),
        ("E   AssertionError: assert [1, 2.5] == [-1, 1e9]", "AssertionError: assert [N, N] == [N, N]"),
        ("ValueError: 'two words' is not 12 bytes", "ValueError: '…' is not N bytes"),
        ("OSError: [Errno 2] No such file or directory: '/tmp/pytest-of-me/x_1/a.txt'",
         "OSError: [Errno N] No such file or directory: '…'"),
        ("SyntaxError: invalid syntax (test_ints.py, line 31)", "SyntaxError: invalid syntax (<path>, line N)"),
        ("RuntimeError: src/click/formatting.py:123: bad", "RuntimeError: <path>: bad"),
        (r"OSError: C:\Users\me\x.txt is gone", "OSError: <path> is gone"),
        ("ConnectionError: http://127.0.0.1:40123/a?b=1 refused", "ConnectionError: <url> refused"),
        ("KeyError: <Foo object at 0x7fA0>", "KeyError: <Foo object at <address>>"),
        ("LookupError: 123e4567-e89b-42d3-a456-426614174000 is gone", "LookupError: <id> is gone"),
        ("RuntimeError: commit 9f86d081884c7d65 is gone", "RuntimeError: commit <id> is gone"),
        ("RuntimeError: tmpab12cd_x is gone after 0.25s", "RuntimeError: <temp> is gone after N s"),
        ("TypeError: f() takes 2 positional arguments but 3 were given",
         "TypeError: f() takes N positional arguments but N were given"),
        ("UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0",
         "UnicodeDecodeError: '…' codec can't decode byte <address> in position N"),
        ("FAILED tests/test_a.py::test_b - TypeError: no", "TypeError: no"),
        ("TypeError [ERR_X]: Cannot read properties of undefined (reading 'map')",
         "TypeError [ERR_X]: Cannot read properties of undefined (reading 'map')"),
        ("java.lang.AssertionError: expected:<1> but was:<2>", "java.lang.AssertionError: expected:<N> but was:<N>"),
        ("thread 'tests::a' panicked at src/lib.rs:5:9:", "thread '…' panicked at <path>:"),
        ("\x1b[31mKeyError: 'k'\x1b[0m", "KeyError: 'k'"),
        ("int64 is not utf8", "int64 is not utf8"),
        ("", ""),
        ("\n\n", ""),
    ],
)  # fmt: skip
def test_signature(text: str, wanted: str) -> None:
    assert build_failure_signature(text) == wanted


def test_the_last_exception_of_a_traceback_counts() -> None:
    text = """Traceback (most recent call last):
  File "/a/b.py", line 1, in f
KeyError: 'first'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/a/b.py", line 3, in f
mypackage.errors.StorageError: cannot store 12 items
- a diff line
"""
    assert build_failure_signature(text) == "mypackage.errors.StorageError: cannot store N items"


def test_failures_that_differ_only_in_places_and_values_are_alike() -> None:
    one = "E   AssertionError: assert 'a b' == 'c d'\n/x/test_one.py:12: AssertionError"
    other = "E   AssertionError: assert 'e' == 'f'\n/x/test_two.py:99: AssertionError"
    assert build_failure_signature(one) == build_failure_signature(other)


@pytest.mark.parametrize(
    ("folder", "test", "wanted"),
    [
        ("009_pytest_ra_all", "tests.test_numbers::test_text[a - b]", "AssertionError: assert '…' != '…'"),
        ("019_unittest_3_11", "test_animals.Worms.test_dig", "OSError: mud"),
        ("025_tape_mixed", "failing > one is two", "operator: equal"),
        ("029_node_tap", "suite > deeper > fails too", "error: 'deep'"),
        ("029_node_tap", "fails", "expected: N"),
    ],
)
def test_signature_of_an_excerpt_is_that_of_the_reason(folder: str, test: str, wanted: str) -> None:
    output = (REPORTS / folder / "output.txt").read_text(encoding="utf-8")
    assert build_failure_signature(extract_failure_excerpt(output, [test])) == wanted


def test_a_signature_is_bounded() -> None:
    assert (
        build_failure_signature("ValueError: " + "word " * 10_000) == ("ValueError: " + "word " * 100)[:SIGNATURE_CHARS]
    )


@settings(deadline=None)
@given(st.text())
def test_any_text_has_a_bounded_signature_of_one_line(text: str) -> None:
    reduced = build_failure_signature(text)
    assert len(reduced) <= SIGNATURE_CHARS
    assert "\n" not in reduced


@pytest.mark.parametrize(
    ("folder", "tests", "wanted"),
    [
        (
            "009_pytest_ra_all",
            ["tests.test_numbers::test_subtracts", "tests.test_numbers.TestInside::test_raises"],
            "tests.test_numbers::test_subtracts\n  assert (3 - 1) == 1\n"
            "tests.test_numbers.TestInside::test_raises\n  KeyError: 'key'",
        ),
        (
            "009_pytest_ra_all",
            ["tests/test_numbers.py::test_text[a - b]", "(collection) tests/test_unimportable.py"],
            "tests/test_numbers.py::test_text[a - b]\n  AssertionError: assert 'a - b' != 'a - b'\n"
            "(collection) tests/test_unimportable.py\n  ModuleNotFoundError: No module named 'no_such_module'",
        ),
        (
            "019_unittest_3_11",
            ["test_animals.Cats.test_bark", "(set-up) setUpClass test_animals.Dogs"],
            "test_animals.Cats.test_bark\n  AssertionError: 'miaow' != 'bark'\n"
            "(set-up) setUpClass test_animals.Dogs\n  OSError: no kennel",
        ),
        (
            "024_django_verbose",
            ["shop.tests.ItemTests.test_removed_assert"],
            "shop.tests.ItemTests.test_removed_assert\n"
            "  AttributeError: 'ItemTests' object has no attribute 'assertQuerysetEqualish'",
        ),
        (
            "025_tape_mixed",
            ["failing > one is two"],
            "failing > one is two\n  operator: equal\n  expected: 2\n  actual:   1",
        ),
    ],
)
def test_excerpt_of_a_real_output(folder: str, tests: list[str], wanted: str) -> None:
    assert extract_failure_excerpt((REPORTS / folder / "output.txt").read_text(encoding="utf-8"), tests) == wanted


def test_excerpt_takes_the_class_into_account() -> None:
    output = "\n".join(
        f"______ {name}.test_same ______\nE   ValueError: in {name}" for name in ("TestOne", "TestTwo", "TestThree")
    )
    assert extract_failure_excerpt(output, ["m.TestTwo::test_same"]) == "m.TestTwo::test_same\n  ValueError: in TestTwo"


def test_excerpt_from_the_summary_alone() -> None:
    output = "FAILED t.py::test_a - TypeError: no\nFAILED t.py::test_b\n"
    assert extract_failure_excerpt(output, ["t.py::test_a"]) == "t.py::test_a\n  TypeError: no"


def test_excerpt_without_any_of_the_tests_is_the_last_words_of_the_output() -> None:
    assert extract_failure_excerpt("a\nImportError: no x\nb\n", ["t"]) == "ImportError: no x"
    assert extract_failure_excerpt("make: *** [all]\n-----\nError 2\n", []) == "make: *** [all]\nError 2"
    assert extract_failure_excerpt("", ["t"]) == ""


def test_excerpt_is_bounded() -> None:
    output = "".join(f"___ test_{n} ___\n" + f"E   ValueError: {'x' * 5_000}\n" * 9 for n in range(40))
    excerpt = extract_failure_excerpt(output, [f"t::test_{n}" for n in range(40)])
    assert len(excerpt) == EXCERPT_CHARS
    short = extract_failure_excerpt(output.replace("x" * 5_000, "x"), [f"t::test_{n}" for n in range(40)])
    assert short.endswith("\nand 30 more")
    assert short.count("ValueError") == 30


@settings(deadline=None)
@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_output_has_a_bounded_excerpt(output: str, tests: list[str]) -> None:
    assert len(extract_failure_excerpt(output, tests)) <= EXCERPT_CHARS

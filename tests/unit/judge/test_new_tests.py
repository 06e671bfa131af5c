"""Which changes have to be shown by their new tests."""

import pytest

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.run.grant import parse_grant
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.rules.change_facts import ChangeFacts, NewTestOutcomes
from orchestrator.judge.rules.new_tests import check_new_tests, has_behaviour_change, list_new_test_files

OLD = b"def double(number):\n    return number * 2\n"
PASSED, FAILED = TestOutcome.PASSED, TestOutcome.FAILED


def changed(path: str, before: bytes | None, after: bytes | None) -> ChangedFile:
    modes = (None if content is None else "100644" for content in (before, after))
    return ChangedFile(path, before, after, *modes)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("calc.py", OLD, OLD.replace(b"2", b"3")),
        ("calc.py", OLD, OLD + b"print(1)\n"),
        ("new.py", None, OLD),
        ("calc.py", OLD, None),
        ("calc.py", OLD, OLD + b"def ("),
        ("calc.py", b"class A:\n    x = 1\n", b"class A:\n    x: int = 1\n"),
        ("src/lib.rs", b"a", b"b"),
        ("data/names.json", b"[]", b"[1]"),
    ],
)
def test_code_alters_behaviour(path: str, before: bytes | None, after: bytes | None) -> None:
    assert has_behaviour_change([changed(path, before, after)])


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("calc.py", OLD, b'"""Sums."""\n# all of them\n' + OLD),
        ("calc.py", OLD, b"from collections.abc import Sequence\n" + OLD.replace(b"(number)", b"(number: int) -> int")),
        ("calc.py", OLD, b"import typing\nif typing.TYPE_CHECKING:\n    from a import b\n" + OLD),
        ("calc.py", b"import typing\nT = typing.TypeVar('T')\n" + OLD, OLD),
        ("calc.py", OLD, OLD.replace(b"\n", b"\r\n")),
        ("pkg/__init__.py", None, b""),
        ("README.md", b"a", b"b"),
        ("docs/conf.py", b"a = 1", b"a = 2"),
        (".github/workflows/test.yml", b"a", b"b"),
        ("tests/test_calc.py", None, b"a = 1"),
        ("tests/data/a.json", None, b"[]"),
    ],
)
def test_what_no_test_could_tell_apart_alters_none(path: str, before: bytes | None, after: bytes | None) -> None:
    assert not has_behaviour_change([changed(path, before, after)])


def test_test_files_that_are_gone_or_granted_bring_no_new_tests() -> None:
    files = [
        changed(f"tests/test_{name}.py", OLD if name != "new" else None, OLD) for name in ("new", "grown", "granted")
    ]
    gone = changed("tests/test_gone.py", OLD, None)
    paths = list_new_test_files([*files, gone, changed("calc.py", OLD, OLD)], lambda path: "granted" in path)
    assert paths == ("tests/test_new.py", "tests/test_grown.py")


def test_a_new_test_that_fails_or_cannot_run_without_the_change_shows_it() -> None:
    now = {"old": PASSED, "a": PASSED, "b": PASSED, "c": TestOutcome.SKIPPED}
    for without_change in ({"old": PASSED, "a": PASSED, "b": FAILED}, {}):
        outcomes = NewTestOutcomes({"old": PASSED}, now, without_change, is_strict=True)
        assert list(check_new_tests(ChangeFacts(new_tests=outcomes))) == []


def test_the_reason_why_new_tests_are_red_names_the_grant_of_their_files() -> None:
    outcomes = NewTestOutcomes({}, {"a": PASSED}, {"a": PASSED}, is_strict=True, paths=("tests/test_a.py",))
    (finding,) = check_new_tests(ChangeFacts(new_tests=outcomes))
    assert finding.is_blocking
    assert finding.needed_grant == parse_grant("tests/test_a.py:rewrite")

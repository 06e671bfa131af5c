"""Tests that stand among the product: they stay, whatever becomes of the code around them."""

import pytest

from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.inline_tests import check_inline_tests
from orchestrator.judge.source.rust_tests import list_test_items
from orchestrator.judge.support.inline_ids import find_doctested_files, find_self_testing_files

RUST = """\
//! Adds. "#[test]"
pub fn add<'a>(a: i64, b: i64) -> i64 { let _ = '}'; a + b }

#[test]
fn adds_here() { assert_eq!(add(1, 2), 3); }

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> i64 { 3 }

    #[test]
    #[should_panic(expected = "]{")]
    fn adds() {
        assert_eq!(add(1, 2), three()); // }
    }
}
"""
PYTHON = '''\
def add(a, b):
    """Add.

    >>> add(1, 2)
    3
    """
    return a + b


def test_add():
    assert add(1, 2) == 3
'''


def findings(path: str, before: str, after: str, **facts: frozenset[str]) -> list[str]:
    file = ChangedFile(path, before.encode(), after.encode(), old_mode="100644", new_mode="100644")
    return [finding.text for finding in check_inline_tests(ChangeFacts(files=[file], **facts))]


def test_items_of_rust_that_are_only_there_for_tests_are_found() -> None:
    found = [(item.text[:40], item.line) for item in list_test_items(RUST)]
    assert found == [
        ("# [ test ] fn adds_here ( ) { assert_eq ", 4),
        ("use super : : * ;", 9),
        ("fn three ( ) - > i64 { 3 }", 11),
        ("# [ test ] # [ should_panic ( expected =", 13),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add(1, 2), 3)", "add(1, 2), -1)"),
        ("i64 { 3 }", "i64 { -1 }"),
        ("#[cfg(test)]\n", "#[cfg(any())]\n"),
        ("    #[test]\n    #[should", "    #[should"),
        ("#[test]\nfn adds_here() { assert_eq!(add(1, 2), 3); }", ""),
    ],
    ids=["expected-value", "helper", "not-compiled", "no-test", "removed"],
)
def test_a_test_among_the_code_of_a_rust_file_may_not_change(old: str, new: str) -> None:
    assert old in RUST
    (text,) = findings("src/lib.rs", RUST, RUST.replace(old, new))
    assert text.startswith("src/lib.rs: a test among the code of the base was changed or removed (line ")


def test_the_code_of_a_rust_file_may_change_and_its_tests_may_grow() -> None:
    after = RUST.replace("a + b", "b + a").replace("    use", "    #[test]\n    fn more() { adds(); }\n    use")
    assert findings("src/lib.rs", RUST, after.replace("    fn three", "        fn three")) == []


DOCTESTED = {"doctested_files": frozenset({"shop/money.py", "README.md"})}


@pytest.mark.parametrize(
    ("after", "is_red"),
    [
        (PYTHON.replace("    3\n", "    -1\n"), True),
        (PYTHON.replace("    >>> add(1, 2)\n    3\n", ""), True),
        (PYTHON.replace("    >>> add(1, 2)\n", "    >>> add = max\n    >>> add(1, 2)\n"), True),
        (PYTHON.replace("    >>> add(1, 2)\n", "    >>> add(1, 2)  # doctest: +SKIP\n"), True),
        (PYTHON.replace("    3\n", "    3\n    >>> add(2, 2)\n    4\n"), False),
        (PYTHON.replace("a + b", "b + a").replace("Add.", "Add both."), False),
        (f"def first():\n    pass\n\n\n{PYTHON}", False),
    ],
)
def test_an_example_that_the_gate_runs_may_not_change(after: str, is_red: bool) -> None:
    assert bool(findings("shop/money.py", PYTHON, after, **DOCTESTED)) == is_red
    assert findings("shop/other.py", PYTHON, after, **DOCTESTED) == []


def test_an_example_of_a_text_may_not_change_and_its_words_may() -> None:
    text = "Words.\n\n>>> 1 + 1\n2\n"
    assert findings("README.md", text, text.replace("Words", "Other words"), **DOCTESTED) == []
    (told,) = findings("README.md", text, text.replace("\n2", "\n3"), **DOCTESTED)
    assert "an example that the gate runs as a test of the base was changed or removed (line 3 of the base" in told


def test_a_test_function_in_a_module_of_the_product_may_not_change() -> None:
    facts = {"self_testing_files": frozenset({"shop/money.py"})}
    assert findings("shop/money.py", PYTHON, PYTHON.replace("return a + b", "return b + a"), **facts) == []
    assert len(findings("shop/money.py", PYTHON, PYTHON.replace("== 3", "== -1"), **facts)) == 1


def test_a_moved_example_is_none_that_was_lost() -> None:
    files = [
        ChangedFile("shop/money.py", PYTHON.encode(), b"", old_mode="100644", new_mode="100644"),
        ChangedFile("shop/sums.py", None, PYTHON.encode(), old_mode=None, new_mode="100644"),
    ]
    assert list(check_inline_tests(ChangeFacts(files=files, doctested_files=DOCTESTED["doctested_files"]))) == []


def test_files_that_hold_tests_are_known_by_the_ids_of_the_base() -> None:
    paths = ["shop/money.py", "src/shop/sums.py", "README.md", "docs/guide.md", "tests/test_x.py", "shop/__init__.py"]
    tests = [
        *("shop.money::shop.money.add", "docs.guide.md::guide.md", "tests.test_x::test_x"),
        *("src.shop.sums::test_sum", "src.shop.sums.SumsTest::test_other"),
    ]
    assert find_doctested_files(paths, tests, []) == {"shop/money.py", "docs/guide.md"}
    assert find_doctested_files(["shop/money.py"], [], ["python -m doctest shop/money.py"]) == {"shop/money.py"}
    assert find_self_testing_files(paths, tests) >= {"src/shop/sums.py"}
    assert "tests/test_x.py" not in find_self_testing_files(paths, tests)

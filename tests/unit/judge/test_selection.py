"""Which test files stand for `{tests}`."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.recipe.verify import VerifyCheck
from orchestrator.judge.selection.selected_tests import ALL_TESTS, SelectedTests, parse_selected_tests, select_tests

FILES = (
    "src/core.py",
    "src/io.py",
    "src/lonely.py",
    "tests/conftest.py",
    "tests/test_core.py",
    "tests/test_all.py",
    "web/a.js",
    "web/a.test.js",
)
IMPORTED_BY = {
    "src/core.py": {"src/io.py", "tests/test_core.py", "tests/test_all.py"},
    "src/io.py": {"tests/test_all.py"},
}


def importers(paths: Iterable[str]) -> set[str]:
    return {by for path in paths for by in IMPORTED_BY.get(path, ())}


def check(tests: str) -> VerifyCheck:
    return VerifyCheck.model_validate(
        {"id": "t", "run": "pytest {tests}", "tests": tests, "all": "tests", "select": "x"}
    )


def chosen(tests: str, *changed: str) -> SelectedTests:
    return select_tests(check(tests), changed, FILES, importers)


def test_a_changed_test_and_the_tests_called_like_a_changed_file_are_selected() -> None:
    assert chosen("changed", "src/core.py").files == ("tests/test_core.py",)
    assert chosen("changed", "tests/test_all.py", "web/a.js").files == ("tests/test_all.py", "web/a.test.js")


def test_tests_that_import_a_changed_file_are_selected_too() -> None:
    assert chosen("changed+importers", "src/core.py").files == ("tests/test_all.py", "tests/test_core.py")
    assert chosen("changed+importers", "src/io.py").files == ("tests/test_all.py",)


def test_a_changed_file_without_a_test_makes_it_all_of_them_and_is_named() -> None:
    assert chosen("changed", "src/core.py", "src/io.py") == SelectedTests(None, ("src/io.py",))
    assert chosen("changed+importers", "src/lonely.py") == SelectedTests(None, ("src/lonely.py",))
    assert chosen("changed", "tests/conftest.py") == SelectedTests(None, ("tests/conftest.py",))
    assert chosen("changed", "src/lonely.py").format_command(check("changed")) == "pytest tests"


def test_odd_names_are_quoted_and_never_options() -> None:
    assert (
        SelectedTests(("-x_test.py", "a b_test.py")).format_command(check("changed"))
        == "pytest ./-x_test.py 'a b_test.py'"
    )


def test_a_command_can_only_name_files_that_are_there() -> None:
    assert parse_selected_tests("./tests/test_core.py\n\ntests/test_gone.py\n; rm -rf .\n", FILES).files == (
        "tests/test_core.py",
    )
    assert parse_selected_tests("nothing\n", FILES).files is None


@given(st.lists(st.sampled_from(FILES), unique=True))
def test_more_changes_never_select_less(changed: list[str]) -> None:
    for mode in ("changed", "changed+importers"):
        whole = chosen(mode, *changed).files
        for path in changed:
            part = chosen(mode, path).files
            assert whole is None or (part is not None and set(part) <= set(whole))


def test_more_tests_than_fit_on_a_command_line_are_all_of_them() -> None:
    many = [f"tests/{'deep/' * 20}test_{number:04}.py" for number in range(2000)]
    assert parse_selected_tests("\n".join(many), many) == ALL_TESTS
    assert parse_selected_tests("\n".join(many[:20]), many).files == tuple(many[:20])

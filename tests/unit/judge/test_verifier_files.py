"""The files of a verifier: which it may write, how the gate runs them, and which outcomes are theirs."""

import pytest

from orchestrator.domain.judging.check import CheckSpec, ReportFormat, TestOutcome
from orchestrator.domain.judging.verifier_tests import BaseOutcome
from orchestrator.judge.files.verifier_files import MAX_FILE_CHARS, find_file_problem
from orchestrator.judge.gate.narrowed_command import narrow_to_files, run_past_failures
from orchestrator.judge.gate.verifier_outcomes import (
    FileOutcomes,
    find_base_problem,
    find_gate_omission,
    find_omission,
    list_candidate_failures,
    select_file_outcomes,
)
from orchestrator.judge.reports.parsed_report import EXIT_CODE_ID

PASSED, FAILED, ERROR, SKIPPED = TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.ERROR, TestOutcome.SKIPPED


def narrowed(run: str, path: str = "tests/test_a.py") -> str | None:
    spec = narrow_to_files(CheckSpec(id="gate", run=run, report=ReportFormat.AUTO), [path])
    return spec.run if spec else None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest", "pytest tests/test_a.py"),
        ("python -m pytest -q -x tests", "python -m pytest -q tests/test_a.py"),
        ("uv run pytest -n 2 --maxfail=1 tests/unit", "uv run pytest -n 2 tests/test_a.py"),
        ("pytest --maxfail 1 -m 'not slow' tests", "pytest -m 'not slow' tests/test_a.py"),
        ("pytest --cov pkg -q", "pytest --cov pkg -q tests/test_a.py"),
        ("A='x y' pytest --junitxml={report}", "A='x y' pytest --junitxml={report} tests/test_a.py"),
        ("python3 -m unittest -v", "python3 -m unittest -v tests/test_a.py"),
        ("python3 -m unittest discover -v", "python3 -m unittest -v tests/test_a.py"),
        ("node --test --test-reporter=tap", "node --test --test-reporter=tap tests/test_a.py"),
        ("npx vitest run --reporter=junit src", "npx vitest run --reporter=junit tests/test_a.py"),
    ],
)
def test_a_runner_that_takes_files_runs_these_alone(command: str, expected: str) -> None:
    assert narrowed(command) == expected


@pytest.mark.parametrize(
    "command",
    ["make test", "pytest && flake8", "pytest tests/*.py", "cargo test", "node tests.js", "tox -e py", "pytest 'a",
     "python3 -m unittest discover -s tests"],
)  # fmt: skip
def test_any_other_command_is_left_whole(command: str) -> None:
    assert narrowed(command) is None


@pytest.mark.parametrize(
    ("command", "path", "expected"),
    [
        (
            "PATH=/opt:$PATH cargo test --quiet --offline",
            "tests/new_one.rs",
            "PATH=/opt:$PATH cargo test --no-fail-fast --offline --test new_one",
        ),
        ("cargo +stable test", "crates/a/tests/new.rs", "cargo +stable test --no-fail-fast --test new"),
        ("cargo test", "src/tests/new/cases.rs", None),
        ("cargo test --doc", "tests/new.rs", None),
        ("cargo test -- --test-threads=1", "tests/new.rs", None),
        ("cargo build && cargo test", "tests/new.rs", None),
    ],
)
def test_cargo_runs_integration_tests_alone_and_names_them(command: str, path: str, expected: str | None) -> None:
    assert narrowed(command, path) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("PATH=/opt:$PATH cargo test --quiet", "PATH=/opt:$PATH cargo test --no-fail-fast --quiet"),
        ("cargo fmt --check && cargo +stable test", "cargo fmt --check && cargo +stable test --no-fail-fast"),
        ("cargo test --no-fail-fast", "cargo test --no-fail-fast"),
        ("cargo nextest run", "cargo nextest run"),
        ("make test", "make test"),
    ],
)
def test_cargo_goes_on_after_a_file_that_fails(command: str, expected: str) -> None:
    assert run_past_failures(CheckSpec(id="gate", run=command, report=ReportFormat.AUTO)).run == expected


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        ("tests/test_new.py", "def test(): pass\n", ""),
        ("src/new.spec.ts", "not ( python", ""),
        ("t/new.t", "not ( python", ""),
        (".github/new.t", "x", "it is no file of tests by its path"),
        ("tests/conftest.py", "", "it is no file of tests by its path"),
        ("tests/__init__.py", "", "it is no file of tests by its path"),
        ("shop/new.py", "x = 1\n", "it is no file of tests by its path"),
        ("tests/data.json", "{}", "it is no file of tests by its path"),
        ("tests/../test_new.py", "x = 1\n", "its path cannot be used"),
        ("/test_new.py", "x = 1\n", "its path cannot be used"),
        ("tests/pytest.py", "x = 1\n", "it is no file of tests by its path"),
        ("tests/test_old.py", "x = 1\n", "the repository has this file already"),
        ("test/test_OLD.py", "x = 1\n", "another file of tests is called test_old"),
        ("tests/test_new.py", "def test(:\n", "it is no Python: line 1"),
        ("tests/test_new.py", " \n", "it is empty"),
        ("tests/test_new.py", "#" * (MAX_FILE_CHARS + 1), "it has 40,001 characters"),
    ],
)
def test_only_new_legible_files_of_tests_may_be_written(path: str, text: str, problem: str) -> None:
    found = find_file_problem(path, text, {"tests/test_old.py"}, {"test_old"})
    assert found.startswith(problem) and bool(found) == bool(problem)


def test_outcomes_are_of_the_file_that_their_place_names() -> None:
    outcomes = {
        "tests.test_a::test_one": PASSED,
        "tests.test_a.TestClass::test_two": FAILED,
        "(collection) tests.test_a": ERROR,
        "tests.test_b::test_a": PASSED,
        "test_b.T.test_a": PASSED,
        "unittest.loader._FailedTest.test_a": ERROR,
        "tests/test_a.py > adds": PASSED,
    }
    assert list(select_file_outcomes("tests/test_a.py", outcomes)) == [
        "tests.test_a::test_one",
        "tests.test_a.TestClass::test_two",
        "(collection) tests.test_a",
        "unittest.loader._FailedTest.test_a",
        "tests/test_a.py > adds",
    ]


@pytest.mark.parametrize(
    ("claimed", "outcomes", "ending", "is_good"),
    [
        (BaseOutcome.NEW_BEHAVIOUR, {"a": FAILED, "b": PASSED}, "", True),
        (BaseOutcome.NEW_BEHAVIOUR, {"(collection) a": ERROR}, "", True),
        (BaseOutcome.NEW_BEHAVIOUR, {"a": PASSED}, "", False),
        (BaseOutcome.NEW_BEHAVIOUR, {"a": SKIPPED}, "", False),
        (BaseOutcome.NEW_BEHAVIOUR, {}, "", False),
        (BaseOutcome.NEW_BEHAVIOUR, {"a": FAILED}, "did not end in time", False),
        (BaseOutcome.CHARACTERISATION, {"a": PASSED, "b": SKIPPED}, "", True),
        (BaseOutcome.CHARACTERISATION, {"a": PASSED, "b": FAILED}, "", False),
        (BaseOutcome.CHARACTERISATION, {"a": SKIPPED}, "", False),
    ],
)
def test_a_file_counts_that_ends_on_the_base_as_was_told(
    claimed: BaseOutcome, outcomes: dict[str, TestOutcome], ending: str, is_good: bool
) -> None:
    assert (find_base_problem(claimed, FileOutcomes(outcomes, "r", ending)) == "") == is_good


def test_a_candidate_fails_what_is_red_in_every_run_and_a_file_of_which_nothing_passed() -> None:
    first, second = FileOutcomes({"a": FAILED, "b": FAILED, "c": PASSED}, "r"), FileOutcomes({"a": FAILED}, "s")
    assert list_candidate_failures("f", [first, second]) == ("a",)
    assert list_candidate_failures("f", [FileOutcomes({"a": PASSED}, "r")]) == ()
    assert list_candidate_failures("f", [FileOutcomes({"a": SKIPPED}, "r")]) == ("f",)
    assert list_candidate_failures("f", [FileOutcomes({}, "r", "did not end in time")]) == ("f",)
    assert list_candidate_failures("f", [FileOutcomes({"a": PASSED}, "r", omission="left out b")]) == ("f",)


def test_a_test_is_red_that_fails_in_one_run_and_is_left_out_of_the_other() -> None:
    red, short = FileOutcomes({"a": FAILED, "b": PASSED}, "r"), FileOutcomes({"b": PASSED}, "s", omission="left out a")
    assert list_candidate_failures("f", [red, short]) == list_candidate_failures("f", [short, red]) == ("a",)
    assert list_candidate_failures("f", [short, FileOutcomes({"a": PASSED, "b": PASSED}, "t")]) == ()


@pytest.mark.parametrize(
    ("base", "candidate", "omission"),
    [
        ({"a": FAILED, "b": PASSED}, {EXIT_CODE_ID: PASSED}, "told no outcome of any test of the file"),
        ({"(collection) f": ERROR}, {}, "told no outcome of any test of the file"),
        ({"b": PASSED}, {"a": PASSED}, "told no outcome of tests of the file that pass on the base: b"),
        ({"cannot be imported": ERROR}, {"a": PASSED}, ""),
        ({"(collection) f": ERROR}, {EXIT_CODE_ID: PASSED}, ""),
        ({EXIT_CODE_ID: FAILED}, {EXIT_CODE_ID: PASSED}, ""),
        ({"a": PASSED}, {"(collection) f": ERROR}, ""),
    ],
)
def test_a_candidate_has_to_tell_the_tests_of_a_file_that_its_base_told(
    base: dict[str, TestOutcome], candidate: dict[str, TestOutcome], omission: str
) -> None:
    assert find_omission(FileOutcomes(base, "r"), FileOutcomes(candidate, "s")) == omission


def test_the_tests_of_the_project_have_to_run_beside_a_file_as_without_it() -> None:
    without_file = {"a": PASSED, "b": PASSED, "(collection) c": ERROR}
    assert find_gate_omission(without_file, {"a": PASSED, "b": FAILED, "new": PASSED}) == ""
    expected = "left out tests of the project that run without the file: b"
    assert find_gate_omission(without_file, {"a": PASSED, "new": PASSED}) == expected

"""Which line has a command tell of each test that told only its exit code."""

import pytest

from orchestrator.judge.reports.reporter_options import suggest_reporting_line

PYTEST = "===== 12 passed, 1 skipped in 0.41s =====\n"
UNITTEST = "....\n-----\nRan 4 tests in 0.002s\n\nOK\n"
VERBOSE = "test_a (t.T.test_a) ... ok\n\n------\nRan 1 test in 0.000s\n\nOK\n"


@pytest.mark.parametrize(
    ("run", "output", "line", "report"),
    [
        ("python -m pytest -q tests", "", "python -m pytest --junitxml={report} -q tests", "junit"),
        ("pytest && flake8", "", "pytest --junitxml={report} && flake8", "junit"),
        ("python -m unittest discover -s t && true", "", "python -m unittest discover -s t -v && true", "unittest"),
        ("python manage.py test shop", "", "python manage.py test shop -v 2", "unittest"),
        ("python tests/runtests.py -v 1 forms_tests", "", "python tests/runtests.py forms_tests -v 2", "unittest"),
        ("npx mocha spec", "", "npx mocha spec --reporter tap", "tap"),
        ("node --test t", "", "node --test --test-reporter=tap t", "tap"),
        ("npx jest src && true", "", "npx jest src --ci --verbose && true", "jest"),
        ("cargo test --workspace", "", "cargo test --workspace", "cargo"),
        ("cd sub && go test ./...", "", "cd sub && go test -v ./...", "go"),
        ("make test", PYTEST, "PYTEST_ADDOPTS=--junitxml={report} make test", "junit"),
        ("./check", UNITTEST, "./check -v", "unittest"),
        ("npm test", "  4 passing (3ms)\n", "npm test -- --reporter tap", "tap"),
        ("./check", VERBOSE, "./check", "auto"),
    ],
)
def test_a_known_runner_is_given_what_it_needs(run: str, output: str, line: str, report: str) -> None:
    found = suggest_reporting_line(run, output)
    assert found is not None
    assert (found.run, found.report.value) == (line, report)


def test_nothing_is_offered_for_what_is_not_known() -> None:
    assert suggest_reporting_line("make test", "all fine\n") is None
    assert suggest_reporting_line("node test.js", "all fine\n") is None

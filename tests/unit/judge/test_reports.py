import tomllib
from pathlib import Path

import pytest

from orchestrator.domain.judging.check import ReportFormat
from orchestrator.domain.judging.check import TestOutcome as Outcome
from orchestrator.judge.reports import ParsedReport, parse_report

SCENARIOS = sorted(path for path in (Path(__file__).parents[2] / "scenarios" / "reports").iterdir() if path.is_dir())


def expected(folder: Path) -> dict[str, object]:
    return tomllib.loads((folder / "report.toml").read_text(encoding="utf-8"))


def outcomes(folder: Path) -> dict[str, Outcome]:
    return {test: Outcome(outcome) for test, outcome in expected(folder)["outcomes"].items()}


def parsed(folder: Path, kind: ReportFormat) -> ParsedReport:
    report = folder / "report.xml"
    content = report.read_bytes() if report.exists() else None
    return parse_report(kind, b"" if content is not None else folder / "output.txt", content)


@pytest.mark.parametrize("folder", SCENARIOS, ids=lambda folder: folder.name)
def test_real_report(folder: Path) -> None:
    wanted = expected(folder)
    result = parsed(folder, ReportFormat(wanted["format"]))
    assert result.outcomes == outcomes(folder)
    assert result.problem.startswith(wanted.get("problem", ""))
    assert bool(result.problem) == ("problem" in wanted)


@pytest.mark.parametrize("folder", SCENARIOS, ids=lambda folder: folder.name)
def test_real_report_found_without_being_told_its_format(folder: Path) -> None:
    is_found = expected(folder).get("auto", True)
    assert parsed(folder, ReportFormat.AUTO).outcomes == (outcomes(folder) if is_found else None)


REPORT = b'<testsuite><testcase classname="b" name="test_b"/></testsuite>'
ONE = b"=== 1 passed in 0.01s ===\n"


def test_a_report_that_a_second_run_of_pytest_overwrote_is_told() -> None:
    told = parse_report(ReportFormat.AUTO, b"=== 3 passed, 1 skipped in 0.02s ===\n" + ONE, REPORT)
    assert told.outcomes == {"b::test_b": Outcome.PASSED}
    assert told.problem.startswith(
        "2 runs of pytest wrote the same report, and only the last one's 1 of 4 tests are in"
    )


@pytest.mark.parametrize("output", [b"", ONE, b"no tests ran in 0.01s\n" + ONE, b"=== 1 error in 0.01s ===\n" + ONE])
def test_a_report_that_holds_all_that_pytest_counted_is_whole(output: bytes) -> None:
    assert parse_report(ReportFormat.JUNIT, output, REPORT).problem == ""


STOPPED = "!!!!! stopping after 1 failures !!!!!\n"
STOPPED_WORKERS = "!!!!! xdist.dsession.Interrupted: stopping after 1 failures !!!!!\n"
FAILED = "=== short test summary info ===\nFAILED test_b.py::test_b - assert 0\n"
ENDED = "1 failed in 0.02s\n"


@pytest.mark.parametrize("ending", [STOPPED + ENDED, STOPPED, STOPPED + STOPPED_WORKERS + ENDED])
@pytest.mark.parametrize("kind", [ReportFormat.JUNIT, ReportFormat.AUTO, ReportFormat.PYTEST_RA])
def test_a_run_of_pytest_that_ended_before_all_tests_had_run_says_so(kind: ReportFormat, ending: str) -> None:
    report = None if kind == ReportFormat.PYTEST_RA else REPORT
    problem = parse_report(kind, (FAILED + ending).encode(), report).problem
    assert "pytest ended before all tests had run (stopping after 1 failures)" in problem


def test_what_a_test_prints_does_not_pass_for_the_end_of_pytest() -> None:
    assert parse_report(ReportFormat.JUNIT, (STOPPED + FAILED + ENDED).encode(), REPORT).problem == ""

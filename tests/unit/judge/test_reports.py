import tomllib
from pathlib import Path

import pytest

from orchestrator.domain.check import ReportFormat
from orchestrator.domain.check import TestOutcome as Outcome
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

"""Test reports of any kind into test id → outcome. Nothing here raises: what is malformed becomes a `problem`."""

from collections.abc import Callable
from pathlib import Path

from orchestrator.domain.judging.check import ReportFormat
from orchestrator.judge.reports import (
    cargo_text,
    go_test,
    jest_text,
    junit,
    mocha_text,
    pytest_text,
    tap,
    unittest_text,
    vitest_text,
)
from orchestrator.judge.reports.parsed_report import ParsedReport, is_test_id

__all__ = ["ParsedReport", "is_test_id", "parse_report"]

_MAX_OUTPUT_BYTES = 64 * 1024 * 1024
_READERS: dict[ReportFormat, tuple[Callable[[str], bool], Callable[[str], ParsedReport]]] = {
    ReportFormat.TAP: (tap.is_tap_output, tap.parse_tap),
    ReportFormat.UNITTEST: (unittest_text.is_unittest_output, unittest_text.parse_unittest_text),
    ReportFormat.PYTEST_RA: (pytest_text.is_pytest_output, pytest_text.parse_pytest_text),
    ReportFormat.CARGO: (cargo_text.is_cargo_output, cargo_text.parse_cargo_text),
    ReportFormat.GO: (go_test.is_go_output, go_test.parse_go_test),
    ReportFormat.VITEST: (vitest_text.is_vitest_output, vitest_text.parse_vitest_text),
    ReportFormat.JEST: (jest_text.is_jest_output, jest_text.parse_jest_text),
    ReportFormat.MOCHA: (mocha_text.is_mocha_output, mocha_text.parse_mocha_text),
}
"""Format → what tells that a text is in it, and what reads it; the surest first."""


def parse_report(
    kind: ReportFormat, output: Path | bytes, report: bytes | None = None, exit_code: int | None = None
) -> ParsedReport:
    """Read what a check reported: its report file if it wrote one, or its output, as bytes or as a file that holds it.

    A format that was asked for and is not there gives no outcomes and a problem, so that it never passes for a
    check without tests. `auto` without any evidence gives None: only the exit code counts. The exit code is used
    for the wording of a problem alone.
    """
    if kind == ReportFormat.EXIT_CODE:
        return ParsedReport()
    text, problem = _read_text(output)
    if kind == ReportFormat.JUNIT or (kind == ReportFormat.AUTO and report is not None):
        return _add_exit_code(_parse_junit(report, text), exit_code)
    if kind == ReportFormat.AUTO:
        kind = next((known for known, (looks_like, _) in _READERS.items() if looks_like(text)), kind)
        if kind == ReportFormat.AUTO:
            return ParsedReport(problem=problem)
    parsed = _READERS[kind][1](text)
    stopped = pytest_text.find_early_stop(text) if kind == ReportFormat.PYTEST_RA else ""
    problems = "; ".join(filter(None, (parsed.problem, stopped, problem)))
    return _add_exit_code(ParsedReport(outcomes=parsed.outcomes, problem=problems), exit_code)


def _parse_junit(report: bytes | None, text: str) -> ParsedReport:
    if report is None:
        return ParsedReport(outcomes={}, problem="no JUnit report was written")
    parsed = junit.parse_junit(report)
    if not parsed.problem and (stopped := pytest_text.find_early_stop(text)):
        return parsed.model_copy(update={"problem": stopped})
    runs = pytest_text.count_tests_of_runs(text)
    if parsed.problem or len(runs) < 2 or sum(runs) <= len(parsed.outcomes or ()):
        return parsed
    problem = (
        f"{len(runs)} runs of pytest wrote the same report, and only the last one's {len(parsed.outcomes or ())} of "
        f"{sum(runs)} tests are in it: let one run do all, or make each run a check of its own"
    )
    return parsed.model_copy(update={"problem": problem})


def _read_text(output: Path | bytes) -> tuple[str, str]:
    try:
        content = output if isinstance(output, bytes) else _read_head(output)
    except OSError as error:
        return "", f"the output cannot be read: {error.strerror}"
    problem = "" if len(content) <= _MAX_OUTPUT_BYTES else "the output is too large to be read whole"
    return content[:_MAX_OUTPUT_BYTES].decode("utf-8", "replace"), problem


def _read_head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAX_OUTPUT_BYTES + 1)


def _add_exit_code(parsed: ParsedReport, exit_code: int | None) -> ParsedReport:
    if not parsed.problem or not exit_code:
        return parsed
    return parsed.model_copy(update={"problem": f"{parsed.problem} (exit code {exit_code})"})

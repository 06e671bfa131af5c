"""The output of `go test -v` and `go test -json`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports.parsed_report import (
    COLLECTION_PREFIX,
    SUITE_PREFIX,
    OutcomeTally,
    ParsedReport,
    iterate_plain_lines,
)

_RUN = compile_lazily(r"=== RUN\s+(\S+)\Z")
_RESULT = compile_lazily(r"--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)\Z")
_PACKAGE = compile_lazily(r"(?:(ok  |FAIL)\t(\S+)(?:\t.*|\s+\[(build|setup) failed\])?|(PASS|FAIL))\Z")
_OUTCOMES = {"PASS": TestOutcome.PASSED, "FAIL": TestOutcome.FAILED, "SKIP": TestOutcome.SKIPPED}


@dataclass
class _Package:
    """The tests of one package: those that the runner began, and how those ended that did."""

    begun: dict[str, None] = field(default_factory=dict)
    ended: OutcomeTally = field(default_factory=OutcomeTally)
    unknown: dict[str, None] = field(default_factory=dict)

    def record_result(self, test: str, outcome: TestOutcome) -> None:
        """Book an outcome; one of a test that never began is what a test printed."""
        if test in self.begun:
            self.ended.merge_outcome(test, outcome)
        else:
            self.unknown[test] = None


class _Run:
    """All packages of one output."""

    def __init__(self) -> None:
        self.tally = OutcomeTally()
        self._problems: dict[str, None] = {}
        self.has_ended = False

    def close_package(self, name: str, package: _Package, *, is_red: bool) -> None:
        """Book a package whose end the runner told; a test without an outcome took the run down with it."""
        self.has_ended = True
        for test in package.begun:
            self.tally.add_test(f"{name}::{test}", package.ended.outcomes.get(test, TestOutcome.ERROR))
        has_red = any(outcome.is_red for outcome in package.ended.outcomes.values())
        if is_red and not has_red and len(package.ended.outcomes) == len(package.begun):
            self.tally.merge_outcome(f"{SUITE_PREFIX}{name}", TestOutcome.ERROR)
        for test in package.unknown:
            self._problems[f"{name}: an outcome was printed of {test}, which go test never ran"] = None

    def record_failed_build(self, name: str) -> None:
        """Book a package that was not built."""
        self.has_ended = True
        self.tally.merge_outcome(f"{COLLECTION_PREFIX}{name}", TestOutcome.ERROR)

    def build_report(self, *, is_cut: bool) -> ParsedReport:
        """Return what was read."""
        if is_cut:
            self._problems["the output of go test is cut off: the end of a package is missing"] = None
        elif not self.has_ended:
            self._problems["the output holds no package of go test"] = None
        return ParsedReport(outcomes=self.tally.outcomes, problem="; ".join([*self._problems][:5]))


def is_go_output(text: str) -> bool:
    """Return True on strong evidence of `go test -v` or `-json`: a test that began, and the end of a package."""
    has_test = False
    for line in _iterate_lines(text):
        has_test = has_test or "=== RUN " in line
        if has_test and (match := _PACKAGE.match(line)) and match[2]:
            return True
    return False


def parse_go_test(text: str) -> ParsedReport:
    """Read the outcomes. Ids are `package::Test/subtest`."""
    run, package = _Run(), _Package()
    for line in _iterate_lines(text):
        match = _PACKAGE.match(line)
        if match and match[3]:
            run.record_failed_build(match[2])
        elif match and match[2]:
            run.close_package(match[2], package, is_red=match[1] == "FAIL")
            package = _Package()
        else:
            _read_test_line(line, package)
    return run.build_report(is_cut=bool(package.begun))


def _iterate_lines(text: str) -> Iterator[str]:
    """Yield the lines as `-v` prints them, one package after the other; of `-json` they are put together again.

    Of its events only what they carry of the output is read: old versions of Go tell wrong outcomes in them where a
    test prints without a line break.
    """
    packages: dict[str, list[str]] = {}
    for line in iterate_plain_lines(text):
        event = _read_event(line)
        if event is None:
            yield line
        elif event["Action"] == "output":
            packages.setdefault(str(event["Package"]), []).append(str(event.get("Output", "")))
    for parts in packages.values():
        yield from iterate_plain_lines("".join(parts))


def _read_test_line(line: str, package: _Package) -> None:
    """Read a test that begins or ends; what a test printed without a line break may stand before it."""
    for part in _iterate_marked_parts(line):
        if match := _RUN.match(part):
            package.begun[match[1]] = None
        elif match := _RESULT.match(part):
            package.record_result(match[2], _OUTCOMES[match[1]])


def _iterate_marked_parts(line: str) -> Iterator[str]:
    for mark in ("=== RUN ", "--- "):
        position = line.rfind(mark)
        if position >= 0:
            yield line[position:]


def _read_event(line: str) -> dict[str, Any] | None:
    """Return the event that a line of `-json` is, with its action and package; None if it is none."""
    if not line.startswith('{"'):
        return None
    try:
        event = decode_json(line)
    except ValueError:
        return None
    if isinstance(event, dict) and "Action" in event and "Package" in event:
        return event
    return None

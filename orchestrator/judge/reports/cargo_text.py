"""The output of `cargo test`: unit tests, integration tests and documentation tests of every crate."""

from collections import Counter

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports.counted_tests import CountedTests
from orchestrator.judge.reports.parsed_report import (
    COLLECTION_PREFIX,
    SUITE_PREFIX,
    ParsedReport,
    iterate_plain_lines,
)

_RUNNING = compile_lazily(
    r"\s+Running (?:unittests )?(?:(?P<source>\S+) )?\(?(?P<binary>\S+?)-[0-9a-f]{16}(?:\.exe)?\)?\Z"
)
_DOC_TESTS = compile_lazily(r"\s+Doc-tests (\S+)\Z")
_BEGIN = compile_lazily(r"running \d+ tests?\Z")
_TEST = compile_lazily(r"test (?P<name>\S.*?)(?: - should panic)? \.\.\. (?P<rest>.*)")
_OUTCOME = compile_lazily(r"(?P<outcome>ok|FAILED|ignored)(?:, .*| <[\d.]+s>)?\Z")
_LATE_OUTCOME = compile_lazily(r"(?P<outcome>ok|FAILED)(?: <[\d.]+s>)?\Z")
_END = compile_lazily(r"test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;")
_SECTION = compile_lazily(r"(?:failures|successes):\Z")
_NOT_COMPILED = compile_lazily(r"error: could not compile `([^`]+)`")
_KILLED = compile_lazily(r"\s*process didn't exit successfully: .*\((?:signal|exit)")
_LINE_NUMBER = compile_lazily(r" \(line \d+\)")
_OUTCOMES = {"ok": TestOutcome.PASSED, "FAILED": TestOutcome.FAILED, "ignored": TestOutcome.SKIPPED}


def is_cargo_output(text: str) -> bool:
    """Return True on strong evidence of `cargo test`: a list of tests with its sums, or a build that failed."""
    has_begun, has_test = False, False
    for line in iterate_plain_lines(text):
        has_begun = has_begun or bool(_BEGIN.match(line))
        has_test = has_test or (has_begun and bool(_TEST.match(line)))
        if (has_test and _END.match(line)) or _NOT_COMPILED.match(line):
            return True
    return False


def parse_cargo_text(text: str) -> ParsedReport:
    """Read the outcomes. Ids are `crate source::test`, and `crate doc::source - item` for documentation.

    Line numbers of documentation tests are left out: they change with every line above.
    """
    reader = _Reader()
    for line in iterate_plain_lines(text):
        reader.read_line(line)
    return reader.tests.build_report()


class _Reader:
    def __init__(self) -> None:
        self.tests = CountedTests("cargo test")
        self._prefix = ""
        self._is_listing = False
        self._open_test = ""

    def read_line(self, line: str) -> None:
        """Take in one line."""
        if match := _NOT_COMPILED.match(line):
            self.tests.tally.merge_outcome(f"{COLLECTION_PREFIX}{match[1]}", TestOutcome.ERROR)
            self.tests.ended_runs += 1
        elif match := _END.match(line):
            self._close_list(match[1], match[2], match[3])
        elif _KILLED.match(line) and self._is_listing:
            self.tests.tally.merge_outcome(f"{SUITE_PREFIX}{self._prefix}", TestOutcome.ERROR)
        elif _BEGIN.match(line):
            self._is_listing = True
        elif not self._is_listing:
            self._read_heading(line)
        elif _SECTION.match(line):
            self._is_listing = False
        else:
            self._read_test(line)

    def _read_heading(self, line: str) -> None:
        if match := _RUNNING.match(line):
            crate = match["binary"].replace("\\", "/").rpartition("/")[2]
            self._prefix = f"{crate} {match['source'] or 'tests'}"
        elif match := _DOC_TESTS.match(line):
            self._prefix = f"{match[1]} doc"

    def _read_test(self, line: str) -> None:
        """Read a test; what it prints with `--nocapture` may stand between its name and its outcome."""
        if match := _TEST.match(line):
            name = _LINE_NUMBER.sub("", match["name"])
            if found := _OUTCOME.match(match["rest"]):
                self.tests.add_test(f"{self._prefix}::{name}", _OUTCOMES[found["outcome"]])
            else:
                self._open_test = name
        elif self._open_test and (found := _LATE_OUTCOME.match(line)):
            self.tests.add_test(f"{self._prefix}::{self._open_test}", _OUTCOMES[found["outcome"]])
            self._open_test = ""

    def _close_list(self, passed: str, failed: str, ignored: str) -> None:
        counted: Counter[TestOutcome] = Counter()
        for outcome, number in zip(_OUTCOMES.values(), (passed, failed, ignored), strict=True):
            counted[outcome] = int(number)
        self.tests.close_run(counted)
        self._is_listing, self._open_test = False, ""

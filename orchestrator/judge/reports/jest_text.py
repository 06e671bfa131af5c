"""The output of `jest --verbose`."""

from collections import Counter

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports.counted_tests import SUMMED, CountedTests
from orchestrator.judge.reports.parsed_report import COLLECTION_PREFIX, ParsedReport, is_test_id, iterate_plain_lines

_FILE = compile_lazily(r"(?:PASS|FAIL) +(?P<name>\S.*?)(?: \([\d.]+ m?s\))?(?: \(\d+ MB heap size\))?\Z")
_TEST = compile_lazily(r"(?P<indent> +)(?P<mark>[✓√✕×○✎]) (?P<name>.*?)(?: \([\d.]+ m?s\))?\Z")
_SUITE = compile_lazily(r"(?P<indent> +)(?P<name>\S.*)\Z")
_NOT_RUN = compile_lazily(r"  ● (?:.* › )?Test suite failed to run\Z")
_SUM = compile_lazily(r"Tests: +(?P<counts>(?:\d+ [a-z]+, )*)\d+ total\Z")
_COUNT = compile_lazily(r"(\d+) (passed|failed|skipped|todo)")
_OUTCOMES = {
    **dict.fromkeys("✓√", TestOutcome.PASSED),
    **dict.fromkeys("✕×", TestOutcome.FAILED),
    **dict.fromkeys("○✎", TestOutcome.SKIPPED),
}
_PREFIXES = {"○": "skipped ", "✎": "todo "}


def is_jest_output(text: str) -> bool:
    """Return True on strong evidence of `jest --verbose`: tests below the lines of files, and the sums."""
    if "\nTests: " not in text:
        return False
    return any(map(is_test_id, parse_jest_text(text).outcomes or ()))


def parse_jest_text(text: str) -> ParsedReport:
    """Read the outcomes. Ids are `file > describe > test`, the file as jest prints it, without `./`."""
    reader = _Reader()
    for line in iterate_plain_lines(text):
        reader.read_line(line)
    return reader.tests.build_report()


class _Reader:
    """Reads the lines below the line of a file up to the next blank one; what tests print stands outside of those."""

    def __init__(self) -> None:
        self.tests = CountedTests("jest")
        self._file = ""
        self._is_listing = False
        self._suites: list[tuple[int, str]] = []

    def read_line(self, line: str) -> None:
        """Take in one line."""
        if match := _FILE.match(line):
            self._file = match["name"].removeprefix("./")
            self._is_listing, self._suites = True, []
        elif match := _SUM.match(line):
            self._close_run(match["counts"])
        elif _NOT_RUN.match(line) and self._file:
            self.tests.tally.merge_outcome(f"{COLLECTION_PREFIX}{self._file}", TestOutcome.ERROR)
        elif not line.strip():
            self._is_listing = False
        elif self._is_listing:
            self._read_listed(line)

    def _read_listed(self, line: str) -> None:
        if match := _TEST.match(line):
            self._leave_suites(len(match["indent"]))
            name = match["name"].removeprefix(_PREFIXES.get(match["mark"], ""))
            parts = (self._file, *(suite for _, suite in self._suites), name)
            self.tests.add_test(" > ".join(parts), _OUTCOMES[match["mark"]])
        elif match := _SUITE.match(line):
            self._leave_suites(len(match["indent"]))
            self._suites.append((len(match["indent"]), match["name"]))

    def _leave_suites(self, indent: int) -> None:
        while self._suites and self._suites[-1][0] >= indent:
            self._suites.pop()

    def _close_run(self, counts: str) -> None:
        counted: Counter[TestOutcome] = Counter()
        for number, word in _COUNT.findall(counts):
            counted[SUMMED[word]] += int(number)
        self.tests.close_run(counted)
        self._file, self._is_listing = "", False

"""The output of `vitest run --reporter=verbose`."""

from collections import Counter

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports.counted_tests import SUMMED, CountedTests
from orchestrator.judge.reports.parsed_report import COLLECTION_PREFIX, ParsedReport, iterate_plain_lines

_BEGIN = compile_lazily(r"\s*RUN\s+v\d+\.\S+ ")
_TEST = compile_lazily(
    r" (?P<mark>[✓√×❯↓□]) (?P<name>\S.* > .*?)(?: \[skipped\])?"
    r"(?: \((?:retry|repeat) x\d+(?:, (?:retry|repeat) x\d+)*\))?"
    r"(?: +\d+(?:\.\d+)?m?s)?(?: \((?:retry|repeat) x\d+\))?(?: \d+ MB heap used)?\Z"
)
_NOT_RUN = compile_lazily(r" FAIL +(?P<file>\S+) \[ (?P=file) \]\Z")
_SUM = compile_lazily(r" +Tests  (?P<counts>.+?)(?: \(\d+\))?\Z")
_COUNT = compile_lazily(r"(\d+) (passed|failed|skipped|todo|expected fail)")
_OUTCOMES = {
    **dict.fromkeys("✓√", TestOutcome.PASSED),
    **dict.fromkeys("×❯", TestOutcome.FAILED),
    **dict.fromkeys("↓□", TestOutcome.SKIPPED),
}


def is_vitest_output(text: str) -> bool:
    """Return True on strong evidence of vitest's verbose reporter: its first line, a test, and its sums."""
    has_begun, has_test = False, False
    for line in iterate_plain_lines(text):
        has_begun = has_begun or bool(_BEGIN.match(line))
        has_test = has_test or (has_begun and bool(_TEST.match(line)))
        if has_test and _SUM.match(line):
            return True
    return False


def parse_vitest_text(text: str) -> ParsedReport:
    """Read the outcomes. Ids are `file > describe > test`, with the project in bars before where there are several."""
    tests, is_running = CountedTests("vitest"), False
    for line in iterate_plain_lines(text):
        if _BEGIN.match(line):
            is_running = True
        elif not is_running:
            continue
        elif match := _TEST.match(line):
            tests.add_test(match["name"], _OUTCOMES[match["mark"]])
        elif match := _NOT_RUN.match(line):
            tests.tally.merge_outcome(f"{COLLECTION_PREFIX}{match['file']}", TestOutcome.ERROR)
        elif match := _SUM.match(line):
            tests.close_run(_read_counts(match["counts"]))
            is_running = False
    return tests.build_report()


def _read_counts(text: str) -> Counter[TestOutcome]:
    counted: Counter[TestOutcome] = Counter()
    for number, word in _COUNT.findall(text):
        counted[SUMMED.get(word, TestOutcome.PASSED)] += int(number)
    return counted

"""The short summary that `pytest -rA` prints."""

import re
from collections import Counter
from itertools import pairwise

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports.parsed_report import COLLECTION_PREFIX, OutcomeTally, ParsedReport, iterate_plain_lines

_TITLE = compile_lazily(r"=+ short test summary info =+\Z")
_LINE = compile_lazily(r"(PASSED|FAILED|ERROR|XFAIL|XPASS|SKIPPED) (.+)\Z")
_SUBTEST = compile_lazily(r"SUB(PASS|FAIL|SKIP)(?:ED|PED)?(?:\[.*?\])? ?(?:\(.*?\))? (.+)\Z")
_END = compile_lazily(r"(?:=+ )?((?:no tests ran|\d+ [a-z]+)(?:, \d+ [a-z ]+?)*) in [\d.]+s\b.*\Z")
_BANNER = compile_lazily(r"!{3,} (?!Interrupted: \d+ errors? during collection)(.+?) !{3,}\Z")
"""What stopped a run; that modules which cannot be collected did is told by those modules themselves."""
_COUNT = compile_lazily(r"(\d+) (passed|failed|errors?|xfailed|xpassed)\b")
_OUTCOMES = {
    **dict.fromkeys(("PASSED", "PASS"), TestOutcome.PASSED),
    **dict.fromkeys(("FAILED", "FAIL"), TestOutcome.FAILED),
    "ERROR": TestOutcome.ERROR,
    "SKIP": TestOutcome.SKIPPED,
    "XFAIL": TestOutcome.XFAILED,
    "XPASS": TestOutcome.XPASSED,
}


def is_pytest_output(text: str) -> bool:
    """Return True on strong evidence of `pytest -rA`: a summary that lists as many tests as its last line counts."""
    return any(map(_TITLE.match, iterate_plain_lines(text))) and not parse_pytest_text(text).problem


def parse_pytest_text(text: str) -> ParsedReport:
    """Read the summaries. Ids are pytest's node ids; a skipped test has none, so it is not among them."""
    tally, listed, counted = OutcomeTally(), Counter[TestOutcome](), Counter[TestOutcome]()
    is_in_summary, ends, titles = False, 0, 0
    for line in iterate_plain_lines(text):
        if _TITLE.match(line):
            is_in_summary, titles = True, titles + 1
        elif match := _END.match(line):
            counted.update(_read_counts(match[1]))
            is_in_summary, ends = False, ends + 1
        elif is_in_summary and (found := _read_summary_line(line)):
            listed[found[1]] += 1
            tally.merge_outcome(*found)
    return ParsedReport(outcomes=tally.outcomes, problem=_describe_problem(listed, counted, titles, ends))


def count_tests_of_runs(text: str) -> list[int]:
    """Return for each run of pytest how many tests its last line counts as passed, failed or expected to fail."""
    totals = []
    for match in filter(None, map(_END.match, iterate_plain_lines(text))):
        counts = _read_counts(match[1])
        total = sum(counts.values()) - counts.get(TestOutcome.ERROR, 0)
        if total:
            totals.append(total)
    return totals


def find_early_stop(text: str) -> str:
    """Return why a run of pytest ended before all its tests had run (`-x`, an interruption); empty if none did.

    Only where it stands at the end of a run is it pytest's own word; a test may print the like.
    """
    if "!!! " not in text:
        return ""
    lines = [*filter(str.strip, iterate_plain_lines(text)), ""]
    for line, after in pairwise(lines):
        if (match := _BANNER.match(line)) and (not after or _BANNER.match(after) or _END.match(after)):
            return f"pytest ended before all tests had run ({match[1]}), so what it did not come to is unknown"
    return ""


def _read_summary_line(line: str) -> tuple[str, TestOutcome] | None:
    match = _SUBTEST.match(line) or _LINE.match(line)
    if match is None or match[1] == "SKIPPED":
        return None
    test_id = match[2]
    if match[1] != "PASSED":
        test_id = _remove_message(test_id)
    if "::" not in test_id:
        test_id = f"{COLLECTION_PREFIX}{test_id}"
    return test_id, _OUTCOMES[match[1]]


def _remove_message(text: str) -> str:
    """Return the node id before ` - message`; parameters in brackets may hold ` - ` too."""
    ends = [match.start() for match in re.finditer(" - ", text)]
    if not ends:
        return text
    if "[" not in text[: ends[0]]:
        return text[: ends[0]]
    closed, balanced = [], []
    for end in (*ends, len(text)):
        if text[end - 1] == "]":
            closed.append(end)
            if text.count("[", 0, end) == text.count("]", 0, end):
                balanced.append(end)
    return text[: (balanced or closed or ends)[0]]


def _read_counts(ending: str) -> dict[TestOutcome, int]:
    return {TestOutcome(word.removesuffix("s")): int(number) for number, word in _COUNT.findall(ending)}


def _describe_problem(listed: Counter[TestOutcome], counted: Counter[TestOutcome], titles: int, ends: int) -> str:
    if not titles and not ends:
        return "the output holds no summary of pytest"
    if ends < titles or not ends:
        return "the pytest output is cut off: its last line is missing"
    short = []
    for outcome, number in counted.items():
        if listed[outcome] < number:
            short.append(f"{number} {outcome}")
    if short:
        return f"pytest counts {', '.join(short)}, but does not list them all: was -rA given?"
    return ""

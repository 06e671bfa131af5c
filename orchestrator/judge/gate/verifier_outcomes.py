"""The outcomes of a verifier's files: which of a run's tests are theirs, and how they end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from orchestrator.domain.judging.check import PASSED_OUTCOMES, Outcomes, Receipt, ReceiptStatus, TestOutcome
from orchestrator.domain.judging.verifier_tests import BaseOutcome
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.reports import is_test_id

MAX_TESTS = 300
"""Tests of one file; nobody writes more by hand."""
_SHOWN = 8
_BETWEEN_PARTS = compile_lazily(r"[./\\\s]+")
_FAILED_IMPORT = "_FailedTest"
"""The class of unittest's own in which a module fails that cannot be imported."""
_ENDINGS = {
    ReceiptStatus.TIMED_OUT: "did not end in time",
    ReceiptStatus.OUTPUT_LIMIT: "printed too much and was stopped",
    ReceiptStatus.KILLED: "was killed",
}


@dataclass(frozen=True)
class FileOutcomes:
    """The outcomes of one file's tests in a run.

    `ending` says how the run ended if not by itself, `omission` which tests a run of a candidate left out.
    """

    outcomes: Outcomes
    receipt: str
    ending: str = ""
    omission: str = ""

    @property
    def red_tests(self) -> tuple[str, ...]:
        """The tests that are red."""
        return tuple(sorted(test for test, outcome in self.outcomes.items() if outcome.is_red))

    @property
    def has_passed(self) -> bool:
        """True if one of its tests passed."""
        return not PASSED_OUTCOMES.isdisjoint(self.outcomes.values())


def describe_ending(receipt: Receipt) -> str:
    """Return how a run ended that did not end by itself; empty if it did."""
    return _ENDINGS.get(receipt.status, "")


def select_file_outcomes(path: str, outcomes: Outcomes) -> dict[str, TestOutcome]:
    """Return the outcomes whose ids name a file, by its path or as a module."""
    stem = PurePosixPath(path).name.partition(".")[0]
    found = {}
    for test, outcome in outcomes.items():
        if path in test or stem in _list_module_parts(test):
            found[test] = outcome
    return found


def _list_module_parts(test: str) -> list[str]:
    """Return the parts of what an id names as the place of a test, without the name of the test itself."""
    place, separator, _ = test.partition("::")
    parts = _BETWEEN_PARTS.split(place)
    if separator or not is_test_id(test) or _FAILED_IMPORT in parts:
        return parts
    return parts[:-1]


def select_new_outcomes(outcomes: Outcomes, known: Outcomes) -> dict[str, TestOutcome]:
    """Return the outcomes of what did not run on the same tree without the file."""
    return {test: outcome for test, outcome in outcomes.items() if test not in known}


def find_base_problem(claimed_outcome: BaseOutcome, run: FileOutcomes) -> str:
    """Return why a file does not end on the base as its verifier claims; empty if it does."""
    if run.ending:
        return f"the run {run.ending} on the base"
    if not run.outcomes:
        return "none of its tests ran on the base: put it where the project's runner finds tests, and name it like one"
    if len(run.outcomes) > MAX_TESTS:
        return f"it has {len(run.outcomes)} tests; write at most {MAX_TESTS}"
    red = join_limited(run.red_tests, _SHOWN)
    if claimed_outcome == BaseOutcome.NEW_BEHAVIOUR:
        if run.red_tests:
            return ""
        return "it is called new-behaviour, but all its tests pass on the base, where nothing has changed yet"
    if run.red_tests:
        return f"it is called characterisation, but on the base these fail: {red}"
    if not run.has_passed:
        return "it is called characterisation, but none of its tests passed on the base"
    return ""


def find_omission(base: FileOutcomes, run: FileOutcomes) -> str:
    """Return what a candidate's run does not tell of a file although its base did; empty if nothing, or it is red.

    A test that failed on the base may go: where a module cannot be imported, some runners call that a test.
    """
    if run.ending or run.red_tests:
        return ""
    known = list(filter(is_test_id, base.outcomes))
    if not run.outcomes or (known and not any(map(is_test_id, run.outcomes))):
        return "told no outcome of any test of the file"
    lost = []
    for test in sorted(known):
        if base.outcomes[test] in PASSED_OUTCOMES and test not in run.outcomes:
            lost.append(test)
    if lost:
        return f"told no outcome of tests of the file that pass on the base: {join_limited(lost, _SHOWN)}"
    return ""


def find_gate_omission(without_file: Outcomes, with_file: Outcomes) -> str:
    """Return which tests of the project a run of the whole gate leaves out once it has a verifier's file."""
    lost = []
    for test in sorted(without_file):
        if is_test_id(test) and test not in with_file:
            lost.append(test)
    if lost:
        return f"left out tests of the project that run without the file: {join_limited(lost, _SHOWN)}"
    return ""


def list_candidate_failures(path: str, runs: Sequence[FileOutcomes]) -> tuple[str, ...]:
    """Return the tests of a file that are red in every run of a candidate.

    In a run that did not come to its end, left tests out or passed none, all tests of the file are red. Where that is
    so of every run, the file itself is returned.

    Raises:
        ValueError: there is no run.
    """
    if not runs:
        raise ValueError(f"{path} was not run")
    whole, found = (path,), []
    for run in runs:
        failures = _list_failures(path, run)
        if failures != whole:
            found.append(failures)
    if not found:
        return whole
    return tuple(test for test in found[0] if all(test in other for other in found[1:]))


def _list_failures(path: str, run: FileOutcomes) -> tuple[str, ...]:
    if run.ending or run.omission or not (run.red_tests or run.has_passed):
        return (path,)
    return run.red_tests


def exclude_dropped_tests(failures: Mapping[str, Sequence[str]], dropped: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """Return path → failures without tests and files that a judge dropped."""
    kept = {}
    for path, tests in failures.items():
        standing = tuple(test for test in tests if test not in dropped)
        if standing and path not in dropped:
            kept[path] = standing
    return kept

"""What a tree lost against the baseline: per test where outcomes are known, else by exit code."""

from collections.abc import Iterable, Iterator

from orchestrator.domain.judging.check import Difference, Outcomes, TestOutcome
from orchestrator.judge.reports.parsed_report import EXIT_CODE_ID, is_test_id

_CRASHED_FROM = 128
"""Shells report a command that a signal ended as 128 plus the signal's number."""
_PASSED = frozenset({TestOutcome.PASSED, TestOutcome.XPASSED})


def compare_outcomes(
    baseline: Outcomes | None, baseline_exit: int | None, outcomes: Outcomes | None, exit_code: int | None
) -> Difference:
    """Compare a tree's outcomes with those of the base; None stands for a check that tells only its exit code.

    With outcomes on both sides the exit code counts if it tells of a crash, or of something red that is no test: a
    linter after the tests, a coverage threshold. Every test of the base must still be there, whatever became of it;
    what names no test, such as a module that could not be imported, may go. Without outcomes of the base only an exit
    code of 0 is green, whatever the base's own was; 0 after another one is told as fixed.
    """
    if baseline is None or outcomes is None:
        problems = tuple(_exit_problems(baseline, baseline_exit, outcomes, exit_code))
    else:
        problems = (*_run_problems(outcomes, exit_code), *_beside(baseline, baseline_exit, outcomes, exit_code))
    before, now = baseline or {}, outcomes or {}
    gone = () if outcomes is None else before.keys() - outcomes.keys()
    mended = [EXIT_CODE_ID] if baseline is None and baseline_exit and exit_code == 0 else []
    return Difference(
        new_failures=_sorted(test for test, outcome in now.items() if outcome.is_red and not _was_red(before, test)),
        missing_tests=_sorted(filter(is_test_id, gone)),
        newly_skipped=_sorted(test for test, outcome in now.items() if _is_left_out(before.get(test), outcome)),
        fixed=_sorted(
            [*mended, *(test for test, outcome in now.items() if outcome in _PASSED and _was_red(before, test))]
        ),
        problems=problems,
    )


def _was_red(before: Outcomes, test: str) -> bool:
    outcome = before.get(test)
    return outcome is not None and outcome.is_red


def _is_left_out(before: TestOutcome | None, now: TestOutcome) -> bool:
    """Whether a test that passed does not have to pass any more; an unexpected pass that ceased is none."""
    if now == TestOutcome.SKIPPED:
        return before in _PASSED
    return now == TestOutcome.XFAILED and before == TestOutcome.PASSED


def _run_problems(outcomes: Outcomes, exit_code: int | None) -> Iterator[str]:
    if not any(outcome != TestOutcome.SKIPPED for test, outcome in outcomes.items() if is_test_id(test)):
        yield "ran no test" if not outcomes else "ran no test: all were skipped or could not be collected"
    if exit_code is None:
        yield "did not exit by itself, so outcomes may be missing"
    elif exit_code < 0 or exit_code >= _CRASHED_FROM:
        yield f"exit code {exit_code} tells of a crash, so outcomes may be missing"


def _beside(baseline: Outcomes, baseline_exit: int | None, outcomes: Outcomes, exit_code: int | None) -> Iterator[str]:
    """Why an exit code is bad news although no test is: the base did not exit like that, and no test explains it."""
    if exit_code in {None, 0, baseline_exit} or not 0 < (exit_code or 0) < _CRASHED_FROM:
        return
    red = set()
    for test, outcome in outcomes.items():
        if outcome.is_red:
            red.add(test)
    unexpected = set()
    for test, outcome in outcomes.items():
        if outcome == TestOutcome.XPASSED:
            unexpected.add(test)
    if baseline_exit == 0:  # what was red or passed unexpectedly on the base did not make it exit with an error
        red = {test for test in red if not _was_red(baseline, test)}
        unexpected = {test for test in unexpected if baseline.get(test) != TestOutcome.XPASSED}
    if not red and not unexpected:
        yield f"exits with {exit_code} although no test explains it; the base exits with {_code(baseline_exit)}"


def _exit_problems(
    baseline: Outcomes | None, baseline_exit: int | None, outcomes: Outcomes | None, exit_code: int | None
) -> Iterator[str]:
    """Why this is not green where one side has no outcomes: then only 0 is."""
    if outcomes is not None:
        yield from _run_problems(outcomes, exit_code)
    elif baseline is not None:
        yield f"told no outcome of any test; the base told {len(baseline)}"
    if baseline is None and baseline_exit is None:
        yield "the base did not exit by itself and tells no tests: nothing can be judged"
    if exit_code != 0 and baseline is None and baseline_exit:
        yield (
            f"exits with {_code(exit_code)}; the gate was red on the base already and tells no tests, so only exit 0 "
            "counts"
        )
    elif exit_code != 0:
        yield f"exits with {_code(exit_code)}; only 0 counts as green without outcomes of the base to compare with"


def _code(exit_code: int | None) -> str:
    if exit_code is None:
        return "no code"
    return str(exit_code)


def _sorted(tests: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(tests))

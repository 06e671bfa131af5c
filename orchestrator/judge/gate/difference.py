"""The difference between a tree and the baseline: per test where outcomes are known, else by exit code.

Symptoms of it are looked for in all of a check, or only in the files of some tests.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from orchestrator.domain.judging.check import PASSED_OUTCOMES, CheckSpec, Difference, Outcomes, TestOutcome
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, MISSING_SUFFIX, get_symptom_test, select_symptoms
from orchestrator.judge.reports.parsed_report import EXIT_CODE_ID, is_test_id

NarrowCheckBuilder = Callable[[CheckSpec, Sequence[str]], CheckSpec | None]
"""The check as it runs the files of these tests and nothing else; None where that cannot be told."""


def narrow_check(spec: CheckSpec, symptoms: Sequence[str], narrow: NarrowCheckBuilder | None) -> CheckSpec | None:
    """Return the narrow check for these symptoms; None if one of them only shows in the whole, or nothing narrows it.

    A missing test is one of those: a narrow run could lack it for having been narrowed wrongly.
    """
    if narrow is None or any(symptom == GATE_SYMPTOM or symptom.endswith(MISSING_SUFFIX) for symptom in symptoms):
        return None
    return narrow(spec, list(dict.fromkeys(map(get_symptom_test, symptoms))))


def compare_narrow_run(baseline: Outcomes, outcomes: Outcomes, symptoms: Sequence[str]) -> Difference | None:
    """Return what a narrow run shows of the symptoms; None if one of their tests did not run in it."""
    tests = set(map(get_symptom_test, symptoms))
    if any(is_test_id(test) and test not in outcomes for test in tests):
        return None
    before, now = _select_tests(baseline, tests), _select_tests(outcomes, tests)
    return select_symptoms(compare_outcomes(before, 0, now, 0), frozenset(symptoms) - {GATE_SYMPTOM})


def _select_tests(outcomes: Outcomes, tests: Collection[str]) -> dict[str, TestOutcome]:
    return {test: outcome for test, outcome in outcomes.items() if test in tests}


_CRASHED_FROM = 128
"""Shells report a command that a signal ended as 128 plus the signal's number."""


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
        problems = tuple(_find_exit_problems(baseline, baseline_exit, outcomes, exit_code))
    else:
        problems = tuple(_find_problems_beside_tests(baseline, baseline_exit, outcomes, exit_code))
    before, now = baseline or {}, outcomes or {}
    new_failures, newly_skipped, fixed = [], [], []
    missing: list[str] = []
    if baseline is None and baseline_exit and exit_code == 0:
        fixed.append(EXIT_CODE_ID)
    for test, outcome in now.items():
        if outcome.is_red and not _was_red(before, test):
            new_failures.append(test)
        if _is_left_out(before.get(test), outcome):
            newly_skipped.append(test)
        if outcome in PASSED_OUTCOMES and _was_red(before, test):
            fixed.append(test)
    if outcomes is not None:
        missing += filter(is_test_id, before.keys() - outcomes.keys())
    return Difference(
        new_failures=tuple(sorted(new_failures)),
        missing_tests=tuple(sorted(missing)),
        newly_skipped=tuple(sorted(newly_skipped)),
        fixed=tuple(sorted(fixed)),
        problems=problems,
    )


def _was_red(before: Outcomes, test: str) -> bool:
    outcome = before.get(test)
    return outcome is not None and outcome.is_red


def _is_left_out(before: TestOutcome | None, now: TestOutcome) -> bool:
    """Return True if a test that passed does not have to pass any more; an unexpected pass that ceased is none."""
    if now == TestOutcome.SKIPPED:
        return before in PASSED_OUTCOMES
    return now == TestOutcome.XFAILED and before == TestOutcome.PASSED


def _find_run_problems(outcomes: Outcomes, exit_code: int | None) -> Iterator[str]:
    if not outcomes:
        yield "ran no test"
    elif not any(outcome != TestOutcome.SKIPPED for test, outcome in outcomes.items() if is_test_id(test)):
        yield "ran no test: all were skipped or could not be collected"
    if exit_code is None:
        yield "did not exit by itself, so outcomes may be missing"
    elif exit_code < 0 or exit_code >= _CRASHED_FROM:
        yield f"exit code {exit_code} tells of a crash, so outcomes may be missing"


def _find_problems_beside_tests(
    baseline: Outcomes, baseline_exit: int | None, outcomes: Outcomes, exit_code: int | None
) -> Iterator[str]:
    """Yield what is wrong with the run, and an exit code that is bad news although no test is, and not the base's."""
    yield from _find_run_problems(outcomes, exit_code)
    if exit_code in {None, 0, baseline_exit} or not 0 < (exit_code or 0) < _CRASHED_FROM:
        return
    for test, outcome in outcomes.items():
        is_known = False
        if baseline_exit == 0:  # what was red or passed unexpectedly on the base did not make it exit with an error
            is_known = _was_red(baseline, test) if outcome.is_red else baseline.get(test) == TestOutcome.XPASSED
        if not is_known and (outcome.is_red or outcome == TestOutcome.XPASSED):
            return
    yield f"exits with {exit_code} although no test explains it; the base exits with {_format_code(baseline_exit)}"


def _find_exit_problems(
    baseline: Outcomes | None, baseline_exit: int | None, outcomes: Outcomes | None, exit_code: int | None
) -> Iterator[str]:
    """Yield why this is not green where one side has no outcomes: then only 0 is."""
    if outcomes is not None:
        yield from _find_run_problems(outcomes, exit_code)
    elif baseline is not None:
        yield f"told no outcome of any test; the base told {len(baseline)}"
    if baseline is None and baseline_exit is None:
        yield "the base did not exit by itself and tells no tests: nothing can be judged"
    if exit_code != 0 and baseline is None and baseline_exit:
        yield (
            f"exits with {_format_code(exit_code)}; the gate was red on the base already and tells no tests, "
            "so only exit 0 counts"
        )
    elif exit_code != 0:
        code = _format_code(exit_code)
        yield f"exits with {code}; only 0 counts as green without outcomes of the base to compare with"


def _format_code(exit_code: int | None) -> str:
    if exit_code is None:
        return "no code"
    return str(exit_code)

"""Looking for symptoms by one run of a check: all of it, or only the files of some tests."""

from collections.abc import Callable, Collection, Sequence

from orchestrator.domain.judging.check import CheckSpec, Difference, Outcomes, TestOutcome
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, MISSING_SUFFIX, get_symptom_test, select_symptoms
from orchestrator.judge.gate.difference import compare_outcomes
from orchestrator.judge.reports.parsed_report import is_test_id

NarrowCheckBuilder = Callable[[CheckSpec, Sequence[str]], CheckSpec | None]
"""The check as it runs the files of these tests and nothing else; None where that cannot be told."""


def never_narrow(_spec: CheckSpec, _tests: Sequence[str]) -> None:
    """Return None: for checks that run as a whole or not at all."""


def narrow_check(spec: CheckSpec, symptoms: Sequence[str], narrow: NarrowCheckBuilder) -> CheckSpec | None:
    """Return the narrow check for these symptoms; None if one of them only shows in the whole.

    A missing test is one of those: a narrow run could lack it for having been narrowed wrongly.
    """
    if any(symptom == GATE_SYMPTOM or symptom.endswith(MISSING_SUFFIX) for symptom in symptoms):
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

"""Symptoms of a red union, each of which can be searched for by itself.

A test that newly fails is a symptom by its own id; one that is missing or newly skipped is another symptom than the
same test failing, because whoever makes it vanish also hides that somebody else breaks it. Whatever concerns the run
as a whole, such as a hang, is the symptom `GATE_SYMPTOM`: a run that shows it may hide all others.
"""

from collections.abc import Iterable

from orchestrator.domain.judging.check import Difference

GATE_SYMPTOM = "(gate)"
MISSING_SUFFIX = " (missing)"
SKIPPED_SUFFIX = " (skipped)"


def collect_symptoms(difference: Difference) -> frozenset[str]:
    """Return every symptom that a difference to the baseline shows."""
    missing = (test + MISSING_SUFFIX for test in difference.missing_tests)
    skipped = (test + SKIPPED_SUFFIX for test in difference.newly_skipped)
    found = (*difference.new_failures, *difference.unsettled, *difference.flaky, *missing, *skipped)
    return frozenset(found) | ({GATE_SYMPTOM} if difference.problems else set())


def get_symptom_test(symptom: str) -> str:
    """Return the id of the test that a symptom is about; empty for the gate itself."""
    if symptom == GATE_SYMPTOM:
        return ""
    return symptom.removesuffix(MISSING_SUFFIX).removesuffix(SKIPPED_SUFFIX)


def can_hide_symptom(run_symptoms: frozenset[str], symptom: str) -> bool:
    """Return True if a run that showed `run_symptoms`, and not `symptom`, may have failed to show it."""
    test = get_symptom_test(symptom)
    hiding = {GATE_SYMPTOM, test + MISSING_SUFFIX, test + SKIPPED_SUFFIX}
    return symptom != GATE_SYMPTOM and not hiding.isdisjoint(run_symptoms)


def select_symptoms(difference: Difference, symptoms: frozenset[str]) -> Difference:
    """Return the part of a difference that these symptoms stand for."""

    def keep_tests(tests: Iterable[str], suffix: str = "") -> tuple[str, ...]:
        return tuple(test for test in tests if test + suffix in symptoms)

    return Difference(
        problems=difference.problems if GATE_SYMPTOM in symptoms else (),
        new_failures=keep_tests(difference.new_failures),
        unsettled=keep_tests(difference.unsettled),
        flaky=keep_tests(difference.flaky),
        looks=tuple(looks for looks in difference.looks if looks.test in symptoms),
        missing_tests=keep_tests(difference.missing_tests, MISSING_SUFFIX),
        newly_skipped=keep_tests(difference.newly_skipped, SKIPPED_SUFFIX),
    )

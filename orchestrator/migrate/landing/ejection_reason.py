"""Why the queue sent a file back: in words, and as a signature that is the same for files that failed alike."""

from collections.abc import Container, Sequence

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.judge.gate.flakiness import UNSETTLED_TESTS_TEXT
from orchestrator.judge.reports.failure_signature import build_failure_signature, extract_failure_excerpt

_MOST_NAMED = 3


def format_ejection_reason(ejected: UnitEjected, landed: Container[str]) -> str:
    """What it breaks, and with whom if it does so only together; `landed` are the paths of what has landed."""
    told = []
    for unit in ejected.partners:
        told.append(f"{unit} (landed before)" if unit in landed else unit)
    return _broken(ejected) + (f", only together with {_some(told)}" if told else "")


def build_ejection_signature(ejected: UnitEjected, output: str) -> str:
    """What failed of it, without what varies: of tests what they printed, of anything else its own words.

    Args:
        ejected: of the file.
        output: what the last run printed in which it was red.
    """
    lost, difference = _lost(ejected), ejected.difference
    if not lost and not difference.unsettled and difference.problems:
        return build_failure_signature(difference.problems[0].partition(": ")[2] or difference.problems[0])
    return build_failure_signature(extract_failure_excerpt(output, lost or difference.unsettled))


def _lost(ejected: UnitEjected) -> Sequence[str]:
    difference = ejected.difference
    return (*difference.new_failures, *difference.missing_tests, *difference.newly_skipped)


def _broken(ejected: UnitEjected) -> str:
    difference, lost = ejected.difference, _lost(ejected)
    if ejected.conflict:
        return "somebody changed it on the PR branch meanwhile"
    if difference.is_unsettled:
        return f"{UNSETTLED_TESTS_TEXT}: {', '.join(difference.unsettled[:_MOST_NAMED])}"
    if lost:
        return f"breaks {len(lost)} test{'s' * (len(lost) != 1)}: {_some(lost)}"
    if difference.flaky and not difference.problems:
        return f"makes tests come and go: {_some(difference.flaky)}"
    return "; ".join(difference.problems) or "the gate is red with it"


def _some(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMED:
        more = f" and {len(names) - _MOST_NAMED} more"
    else:
        more = ""
    return ", ".join(names[:_MOST_NAMED]) + more

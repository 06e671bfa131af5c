"""A limit on the findings of one rule that block nothing."""

from collections import Counter
from collections.abc import Iterable

from orchestrator.domain.judging.verdict import Finding

MAX_FLAGS_PER_RULE = 5
"""Whoever reads more than that of one rule reads none."""


def limit_flags(findings: Iterable[Finding], limit: int = MAX_FLAGS_PER_RULE) -> tuple[Finding, ...]:
    """Return the findings with at most `limit` of each rule that block nothing, and then how many were left out."""
    counts: Counter[str] = Counter()
    kept = []
    for finding in findings:
        if not finding.is_blocking:
            counts[finding.rule] += 1
        if finding.is_blocking or counts[finding.rule] <= limit:
            kept.append(finding)
    for rule, count in counts.items():
        if count > limit:
            text = f"and {count - limit} more of the kind `{rule}`"
            kept.append(Finding(rule=rule, text=text, is_blocking=False))
    return tuple(kept)

"""Tests that pass and fail on one tree: reviewers are told, since nobody but them may see why."""

from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.rules.change_facts import ChangeFacts

_MAX_SHOWN = 12


def check_flaky(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding that names the flaky tests of the change's tree; it blocks nothing."""
    if facts.difference is None or not facts.difference.flaky:
        return
    tests = join_limited(facts.difference.flaky, _MAX_SHOWN)
    text = f"seen both ways on this tree: {tests}; it may be this change that makes them so"
    yield Finding(rule=RuleId.FLAKY, text=text, is_blocking=False)

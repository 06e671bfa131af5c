"""Files that the snapshot took and a reviewer should know of."""

from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.rules.change_facts import ChangeFacts


def check_flagged_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding that names the first ten of them with their reasons; it blocks nothing."""
    if facts.flagged_files:
        text = f"to be looked at: {join_limited(facts.flagged_files, 10, '; ')}"
        yield Finding(rule=RuleId.FLAGGED, text=text, is_blocking=False)

"""Files of a worker that are not part of the change, because the snapshot left them out."""

from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.rules.change_facts import ChangeFacts


def check_left_out_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding that names the first ten of them with their reasons; it blocks nothing."""
    if facts.left_out_files:
        text = f"left out: {join_limited(facts.left_out_files, 10, '; ')}"
        yield Finding(rule=RuleId.DROPPED, text=text, is_blocking=False)

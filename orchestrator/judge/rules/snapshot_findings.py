"""What the snapshot of a workspace found: secrets, files that it left out, files that a reviewer should know of."""

from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.rules.change_facts import ChangeFacts


def check_leaked_secrets(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding that names the files with secrets, and the secrets by their names."""
    if facts.leaks:
        text = f"{join_limited(facts.leaks, 10, '; ')}: take it out, and name the variable in its place"
        yield Finding(rule=RuleId.SECRET, text=text, is_blocking=True)


def check_left_out_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding that names the first ten of them with their reasons; it blocks nothing."""
    if facts.left_out_files:
        text = f"left out: {join_limited(facts.left_out_files, 10, '; ')}"
        yield Finding(rule=RuleId.DROPPED, text=text, is_blocking=False)


def check_flagged_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding that names the first ten of them with their reasons; it blocks nothing."""
    if facts.flagged_files:
        text = f"to be looked at: {join_limited(facts.flagged_files, 10, '; ')}"
        yield Finding(rule=RuleId.FLAGGED, text=text, is_blocking=False)

"""A change may hold no secret of the user's."""

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

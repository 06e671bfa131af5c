"""An attempt that changed nothing cannot be what a task asks for."""

from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.rules.change_facts import ChangeFacts


def check_empty_change(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding if the change's tree is the base's."""
    if facts.is_empty:
        yield Finding(rule=RuleId.EMPTY, text="nothing was changed", is_blocking=True)

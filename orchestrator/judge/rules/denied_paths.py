"""Findings on paths that the policy denies: whatever wrote them, a tool or a command, the change does not land."""

from collections.abc import Iterator

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.judge.rules.change_facts import ChangeFacts

_MAX_PATHS = 20


def check_denied_paths(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding for each path that the policy denies, and one for how many more there are."""
    shown = list(facts.denied_paths.items())
    for path, rule in shown[:_MAX_PATHS]:
        text = f"{path}: the policy denies this change ({rule}); take it back, no grant helps"
        yield Finding(rule=RuleId.POLICY, text=text, path=path, is_blocking=True)
    if len(shown) > _MAX_PATHS:
        text = f"the policy denies {len(shown) - _MAX_PATHS} more paths of this change"
        yield Finding(rule=RuleId.POLICY, text=text, is_blocking=True)

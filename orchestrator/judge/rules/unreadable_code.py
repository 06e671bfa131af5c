"""Code that is nested too deeply for any rule to look into."""

from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.source.python_syntax import MAX_TREE_DEPTH, is_too_deep


def check_unreadable_code(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each such file; it blocks unless the base's version was as deep, or the plan grants it."""
    for file in facts.files:
        if not file.is_python or file.after is None or not is_too_deep(file.after):
            continue
        is_deeper = file.before is None or not is_too_deep(file.before)
        is_granted = facts.is_granted(file.path)
        is_blocking = is_deeper and not is_granted
        text = f"{file.path} is nested more than {MAX_TREE_DEPTH} levels deep, so no rule can look into it"
        if is_blocking:
            text = f"{text}: write it flatter"
        yield Finding(
            rule=RuleId.UNREADABLE,
            text=text,
            path=file.path,
            is_blocking=is_blocking,
            is_granted=is_deeper and is_granted,
        )

"""The size of a change: an empty one is no answer to a task, one too large for a reviewer to read is divided."""

from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.classification import count_reviewed_lines
from orchestrator.judge.rules.change_facts import ChangeFacts

MAX_CHANGED_LINES = 5_000


def check_empty_change(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding if the change's tree is the base's."""
    if facts.is_empty:
        yield Finding(rule=RuleId.EMPTY, text="nothing was changed", is_blocking=True)


def check_change_size(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding if somebody would have to read more than `MAX_CHANGED_LINES` changed lines."""
    counted, uncounted = count_reviewed_lines(facts.files, facts.sizes)
    if counted <= MAX_CHANGED_LINES:
        return
    size = f"{counted} changed lines"
    if uncounted:
        size = f"{size}, {uncounted} of lock and generated files not counted"
    text = f"{size} are more than a reviewer can read ({MAX_CHANGED_LINES}): do less at once"
    yield Finding(rule=RuleId.SIZE, text=text, is_blocking=True)

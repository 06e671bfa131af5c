"""Characters in a change that its readers do not see."""

import unicodedata
from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.source.hidden_text import find_hidden_character

_MAX_LINE_CHARS = 10_000


def check_hidden_characters(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each added line with such a character; none of them blocks."""
    for line in facts.lines:
        hidden = find_hidden_character(line.text[:_MAX_LINE_CHARS])
        if hidden is not None:
            name = unicodedata.name(hidden, "a control character")
            text = f"{line.path}:{line.number} holds U+{ord(hidden):04X} ({name}), which a reader does not see"
            yield Finding(rule=RuleId.HIDDEN_TEXT, text=text, path=line.path, line=line.number, is_blocking=False)

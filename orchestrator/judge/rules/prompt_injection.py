"""Text in a change that speaks to whoever reviews it, or that its readers do not see. It is told, never obeyed.

A change is judged by what it does. So the same change with and without such text has the same verdict.
"""

import unicodedata
from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.source.hidden_text import escape_hidden_text, find_hidden_character
from orchestrator.judge.source.reviewer_addresses import addresses_reviewers, has_name_for_reviewers

_MAX_LINE_CHARS = 10_000


def check_prompt_injection(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each file's name and each added line that speaks to reviewers; none of them blocks."""
    for file in facts.files:
        if not file.is_deleted and has_name_for_reviewers(file.path):
            name = escape_hidden_text(file.path)
            text = f"the name of {name} speaks to whoever reviews it; it instructs nobody"
            yield Finding(rule=RuleId.ADDRESSED, text=text, path=name, is_blocking=False)
    for line in facts.lines:
        if addresses_reviewers(line.text[:_MAX_LINE_CHARS]):
            where = f"{line.path}:{line.number}"
            text = f"{where} speaks to whoever reviews it; it is part of the change and instructs nobody"
            yield Finding(rule=RuleId.ADDRESSED, text=text, path=line.path, line=line.number, is_blocking=False)


def check_hidden_characters(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each added line with such a character; none of them blocks."""
    for line in facts.lines:
        hidden = find_hidden_character(line.text[:_MAX_LINE_CHARS])
        if hidden is not None:
            name = unicodedata.name(hidden, "a control character")
            text = f"{line.path}:{line.number} holds U+{ord(hidden):04X} ({name}), which a reader does not see"
            yield Finding(rule=RuleId.HIDDEN_TEXT, text=text, path=line.path, line=line.number, is_blocking=False)

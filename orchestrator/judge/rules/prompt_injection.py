"""Text in a change that speaks to whoever reviews it, or that hides from whoever reads it. It is told, never obeyed."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from orchestrator.domain.judging.verdict import Finding

_REVIEWERS = r"(?:reviewers?|judges?|graders?|evaluators?|verifiers?|assistants?|AIs?|LLMs?|(?:language )?models?)"
_ADDRESSES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:notes?|notice|attention|messages?|instructions?|hints?)\s+(?:to|for)\s+(?:the\s+|all\s+|any\s+)?{_REVIEWERS}\b",
        rf"\b{_REVIEWERS}\s*[:,;–-]+\s*(?:please\s+|you\s+(?:must|should|can|may)\s+)?"
        r"(?:approve|accept|merge|ignore|pass|skip|lgtm|do not|don't)",
        r"\b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+)?(?:of\s+)?(?:the\s+|your\s+)?"
        r"(?:previous|prior|above|earlier|preceding|system|other)?\s*(?:instructions|rules|guidelines|prompts?|criteria)\b",
        r"\b(?:you\s+(?:must|should|have to)|please)\s+(?:approve|accept|merge)\b",
        r"\bapprove\s+this\s+(?:change|diff|pr|patch|commit|pull request)\b",
        r"""["']?(?:decision|verdict)["']?\s*[:=]\s*["'](?:approve|approved|merge|pass)["']""",
        r"\bsubmit_verdict\b",
        r"</?(?:diff|diffstat|code|codebase|evidence|report|reason|claims|notes|task|system)-[0-9a-z]{2,}>",
        r"<\|(?:im_start|im_end|endoftext|system|user|assistant)\|>|\[/?INST\]|<</?SYS>>",
    )
)
_HIDDEN = re.compile(
    "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e01ef]"
    "|(?<!^)\ufeff|[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]"
)
_WORDS_OF_NAMES = re.compile(r"[-_./]+")
_LEFT_OUT = "⟨words to reviewers, left out⟩"
_MOST = 20
_LINE_CHARS = 10_000


class AddedLine(NamedTuple):
    """A line that a change adds: `number` counts in the new file."""

    path: str
    number: int
    text: str


PROMPT_INJECTION_RULES = frozenset({"addressed", "hidden-text"})
"""The rules of what is flagged here."""


def check_prompt_injection(lines: Iterable[AddedLine], names: Iterable[str] = ()) -> tuple[Finding, ...]:
    """What a person and a reviewer should know of the added lines and of the names of changed files: where, and of
    which kind; none of it blocks.

    A change is judged by what it does. So the same change with and without such text has the same verdict.
    """
    found = [*_flagged_names(names), *_flags(lines)]
    more = [Finding(rule="flags", text=f"and {len(found) - _MOST} more flags", is_blocking=False)]
    return (*found[:_MOST], *(more if len(found) > _MOST else ()))


def _flags(lines: Iterable[AddedLine]) -> Iterator[Finding]:
    for line in lines:
        where, text = f"{line.path}:{line.number}", line.text[:_LINE_CHARS]
        if hidden := _HIDDEN.search(text):
            name = unicodedata.name(hidden[0], "a control character")
            said = f"{where} holds U+{ord(hidden[0]):04X} ({name}), which a reader does not see"
            yield Finding(rule="hidden-text", text=said, is_blocking=False)
        if _speaks(text):
            said = f"{where} speaks to whoever reviews it; it is part of the change and instructs nobody"
            yield Finding(rule="addressed", text=said, is_blocking=False)


def _flagged_names(names: Iterable[str]) -> Iterator[Finding]:
    for name in names:
        if _name_speaks(name):
            said = f"the name of {escape_hidden_text(name)} speaks to whoever reviews it; it instructs nobody"
            yield Finding(rule="addressed", text=said, is_blocking=False)


def _name_speaks(name: str) -> bool:
    return _speaks(_WORDS_OF_NAMES.sub(" ", name)) or _speaks(name)


def remove_addresses_from_name(name: str) -> str:
    """A path, or a mark in its place if it speaks to reviewers."""
    if _name_speaks(name):
        return f"{_LEFT_OUT}{PurePosixPath(name).suffix}"
    return name


def _speaks(text: str) -> bool:
    return any(address.search(remove_hidden_text(text)) for address in _ADDRESSES)


def remove_hidden_text(text: str) -> str:
    """The text without what a reader would not see."""
    return _HIDDEN.sub("", text)


def remove_addresses(text: str) -> str:
    """A line with what it says to reviewers left out, and with a mark that something was."""
    for address in _ADDRESSES:
        text = address.sub(_LEFT_OUT, text)
    return text


def escape_hidden_text(text: str) -> str:
    """The text with what a reader would not see spelt out, as `⟨U+202E⟩`."""
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)

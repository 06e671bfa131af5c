"""Text that speaks to whoever reviews a change, and characters that its readers do not see: found, or taken out."""

import re
from pathlib import PurePosixPath

from orchestrator.domain.text.lazy_pattern import compile_lazily

_HIDDEN = compile_lazily(
    "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e01ef]"
    "|(?<!^)\ufeff|[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]"
)


def find_hidden_character(text: str) -> str | None:
    """Return the first character that a reader does not see; None if all can be seen."""
    match = _HIDDEN.search(text)
    return None if match is None else match[0]


def remove_hidden_text(text: str) -> str:
    """Return the text without characters that a reader does not see."""
    return _HIDDEN.sub("", text)


def escape_hidden_text(text: str) -> str:
    """Return the text with characters that a reader does not see spelt out, as `⟨U+202E⟩`."""
    return _HIDDEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


_REVIEWERS = r"(?:reviewers?|judges?|graders?|evaluators?|verifiers?|assistants?|AIs?|LLMs?|(?:language )?models?)"
_ADDRESSES = tuple(
    compile_lazily(pattern, re.IGNORECASE)
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
_NAME_SEPARATORS = compile_lazily(r"[-_./]+")
_REMOVED = "⟨words to reviewers, left out⟩"


def addresses_reviewers(text: str) -> bool:
    """Return True if the text speaks to reviewers, also if hidden characters break its words up."""
    visible = remove_hidden_text(text)
    return any(address.search(visible) for address in _ADDRESSES)


def has_name_for_reviewers(path: str) -> bool:
    """Return True if the words that make up a path speak to reviewers."""
    return addresses_reviewers(_NAME_SEPARATORS.sub(" ", path)) or addresses_reviewers(path)


def remove_addresses(text: str) -> str:
    """Return a line with a mark in place of everything in it that speaks to reviewers."""
    for address in _ADDRESSES:
        text = address.sub(_REMOVED, text)
    return text


def remove_addresses_from_name(path: str) -> str:
    """Return the path, or a mark with the path's suffix if its words speak to reviewers."""
    if has_name_for_reviewers(path):
        return f"{_REMOVED}{PurePosixPath(path).suffix}"
    return path

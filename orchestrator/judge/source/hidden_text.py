"""Characters of a text that its readers do not see: found, taken out, or spelt out."""

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

"""Texts without what changes from one run of the same work to the next.

Two requests are the same for a replay if they are the same after this. The rules take out numbers and names that
machines make up, never words; `docs/replay.md` lists them. System prompts and the model's own words are compared as
they are.
"""

import re

from orchestrator.domain.chat import Message

_DAY = r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2}"
_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?"
_ZONE = r"(?:Z|[+-]\d{2}:?\d{2}\b)?"
_ALONE = r"(?<![\w.])"
_NAME = r"[^\s/'\"`:,;()\[\]{}<>]"

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # the mark of a fence holds a hash of what it encloses, which is compared itself
    (re.compile(r"(</?[a-z]+)-[0-9a-f]{16}>"), r"\1-#>"),
    # how often a check was begun before: more often in a run that was killed
    (re.compile(r"(\bcheck/[^\s~]{1,400}~)\d+"), r"\1#"),
    (re.compile(rf"{_ALONE}\d{{4}}-\d{{2}}-\d{{2}}[T ]\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d+)?)?{_ZONE}"), "<time>"),
    (re.compile(rf"{_DAY} +(?:{_CLOCK}|\d{{1,2}}:\d{{2}}|\d{{4}}\b)(?: [A-Z]{{3,4}} \d{{4}}\b)?"), "<time>"),
    (re.compile(rf"{_ALONE}{_CLOCK}(?!\w)"), "<time>"),
    (re.compile(rf"{_ALONE}\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|secs?|seconds?)\b"), "<duration>"),
    (re.compile(r"(\bduration_ms:? )\d+(?:\.\d+)?"), r"\1<duration>"),
    (re.compile(r"(\bat )0x[0-9a-fA-F]+\b"), r"\1<address>"),
    (re.compile(r"\b0x[0-9a-fA-F]{9,16}\b"), "<address>"),
    (re.compile(r"(\b(?:pid|PID|process|Process)[ =:#]{1,2})\d+\b"), r"\1<pid>"),
    (re.compile(r"==\d+=="), "==<pid>=="),
    # the first name below /tmp, if it looks made up: tmpab_cdefg, tmp.sZ6bXyQw1e, anything with a digit
    (re.compile(rf"(/tmp/)(?:tmp[._]?\w{{6,12}}(?!\w)|{_NAME}*\d{_NAME}*)"), r"\1<temp>"),
)


def normalize_text(text: str) -> str:
    """Return the text with durations, times, addresses, process ids and temporary names replaced by words for them."""
    while True:
        before = text
        for pattern, instead in _RULES:
            text = pattern.sub(instead, text)
        if text == before:
            return text


def normalize_message(message: Message) -> Message:
    """Return a message as it is compared: words of people, tools and the harness are normalized, the rest stays."""
    if message.role not in {"user", "tool"}:
        return message
    return message.model_copy(update={"text": normalize_text(message.text)})

"""Texts without what changes from one run of the same work to the next.

Two requests are the same for a replay if they are the same after this. The rules take out numbers and names that
machines make up, never words; `docs/replay.md` lists them. System prompts and the model's own words are compared as
they are.
"""

import re

from orchestrator.domain.text.lazy_pattern import compile_lazily

_DAY = r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2}"
_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?"
_ZONE = r"(?:Z|[+-]\d{2}:?\d{2}\b)?"
_ALONE = r"(?<![\w.])"
_NAME = r"[^\s/'\"`:,;()\[\]{}<>]"

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # the mark of a fence holds a hash of what it encloses, which is compared itself
    (compile_lazily(r"(</?[a-z-]+)-[0-9a-f]{16}>"), r"\1-#>"),
    # how often a check was begun before: more often in a run that was killed
    (compile_lazily(r"(\bcheck/[^\s~]{1,400}~)\d+"), r"\1#"),
    (
        compile_lazily(rf"{_ALONE}\d{{4}}-\d{{2}}-\d{{2}}[T ]\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d+)?)?{_ZONE}"),
        "<time>",
    ),
    (compile_lazily(rf"{_DAY} +(?:{_CLOCK}|\d{{1,2}}:\d{{2}}|\d{{4}}\b)(?: [A-Z]{{3,4}} \d{{4}}\b)?"), "<time>"),
    (compile_lazily(rf"{_ALONE}{_CLOCK}(?!\w)"), "<time>"),
    (compile_lazily(rf"{_ALONE}\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|secs?|seconds?)\b"), "<duration>"),
    (compile_lazily(r"(\bduration_ms:? )\d+(?:\.\d+)?"), r"\1<duration>"),
    (compile_lazily(r"(\bat )0x[0-9a-fA-F]+\b"), r"\1<address>"),
    (compile_lazily(r"\b0x[0-9a-fA-F]{9,16}\b"), "<address>"),
    (compile_lazily(r"(\b(?:pid|PID|process|Process)[ =:#]{1,2})\d+\b"), r"\1<pid>"),
    (compile_lazily(r"==\d+=="), "==<pid>=="),
    # the first name below /tmp, if it looks made up: tmpab_cdefg, tmp.sZ6bXyQw1e, anything with a digit
    (compile_lazily(rf"(/tmp/)(?:tmp[._]?\w{{6,12}}(?!\w)|{_NAME}*\d{_NAME}*)"), r"\1<temp>"),
)


def normalize_text(text: str) -> str:
    """Return the text with durations, times, addresses, process ids and temporary names replaced by words for them."""
    while True:
        before = text
        for pattern, instead in _RULES:
            text = pattern.sub(instead, text)
        if text == before:
            return text

"""The focus of a question: the words and the names of files that a text mentions."""

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator.domain.text.lazy_pattern import compile_lazily

_NAME = compile_lazily(r"[A-Za-z0-9_.@-]+(?:/[A-Za-z0-9_.@-]+)*")
_IDENTIFIER = compile_lazily(r"[A-Za-z_][A-Za-z0-9_]{2,63}")
_PART = compile_lazily(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]{3,}")
_MAX_TEXT = 20_000
_MAX_WORDS = 60
_COMMON_WORDS = (
    "the and for with that this from into are has have not but its all any can may must should will when where "
    "which what who how use used using new add added adds make made makes one two each every such than then "
    "there them they their only also more most other others some same still before after without within while "
    "does done code file files test tests task tasks work change changes changed line lines need needs run runs "
    "way src lib main index init py js ts go java repository project goal slice outcome between until above "
    "below would could like keep keeps let lets out own per set you your our get gets give gives given so"
)
_COMMON = frozenset(_COMMON_WORDS.split())


class Focus(NamedTuple):
    """The words of a text: parts of identifiers in small letters, whole identifiers, and what may be names of files.

    `pattern` is a regular expression that finds the words, empty if there are none.
    """

    words: tuple[str, ...] = ()
    identifiers: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    @property
    def pattern(self) -> str:
        """A regular expression for any of the words."""
        return "|".join(self.words)


def read_focus(texts: Iterable[str]) -> Focus:
    """Return what texts are about; only their beginning counts."""
    text = "\n".join(texts)[:_MAX_TEXT]
    words: dict[str, None] = {}
    for part in _PART.findall(text):
        word = part.lower()
        if len(word) > 2 and word not in _COMMON:
            words[word] = None
    names = set()
    for name in _NAME.findall(text):
        trimmed = name.strip(".").removeprefix("./")
        if "/" in trimmed or "." in trimmed:
            names.add(trimmed)
    identifiers = set()
    for word in _IDENTIFIER.findall(text):
        if word.lower() not in _COMMON:
            identifiers.add(word)
    return Focus(tuple(words)[:_MAX_WORDS], frozenset(identifiers), frozenset(names))


def split_words(name: str) -> set[str]:
    """Return the words of an identifier or a path: `UserCart.py` has `user`, `cart` and `py`."""
    return set(map(str.lower, _PART.findall(name)))

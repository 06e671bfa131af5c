"""The words of an event, for the search index, and a person's query as FTS5 understands it."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from orchestrator.domain.text.encoding import decode_json, make_encodable
from orchestrator.domain.text.lazy_pattern import compile_lazily

_ABOUT = {"task", "session", "path", "unit", "key", "model", "role", "number"}
_SILENT = {"settings", "tool_calls", "sha", "tests", "trace", "call_id", "prompt", "reasoning", "reasoning_blocks"}
"""Configuration, what `tool.called` says again, names of blobs, and thinking: agents do not recall each other's."""
_MAX_CHARS = 2_000_000
_WORD = compile_lazily(r'"([^"]*)"?|(\S+)')

ReadBlob = Callable[[str], str | None]


class EventWords(NamedTuple):
    """The words of an event, and its subjects (task, session, file)."""

    said: str
    about: str


def extract_words(body: dict[str, Any], read_blob: ReadBlob) -> EventWords:
    """Return the words in an event's body, whatever stands in it, as the index can take them.

    Long texts are read with `read_blob`, which gives None for those that are lost.
    """
    about = " ".join(str(body[name]) for name in ("task", "session", "path", "unit") if body.get(name))
    said = "\n".join(_iterate_texts({k: v for k, v in body.items() if k not in _ABOUT | _SILENT}, read_blob))
    return EventWords(make_encodable(said[:_MAX_CHARS]), make_encodable(about))


def _iterate_texts(value: object, read_blob: ReadBlob | None) -> Iterator[str]:
    """Yield the texts in a value, in order. Without `read_blob` none of them stands for a blob."""
    waiting = [value]
    while waiting:  # a model may nest what it writes deeper than functions can call themselves
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            waiting.extend(reversed(one))
        elif isinstance(one, dict) and read_blob and _is_kept_text(one):
            yield from _iterate_texts(_expand_text(one, read_blob), None)  # what a model wrote names no blobs of ours
        elif isinstance(one, dict):
            waiting.extend(item for key, item in reversed(one.items()) if key not in _SILENT)


def _is_kept_text(value: dict[str, Any]) -> bool:
    """Return True for what `Text` makes of a text; a model or a recipe may use the same names for anything."""
    if not value.keys() <= {"head", "size", "sha"}:
        return False
    return isinstance(value.get("head"), str) and isinstance(value.get("sha") or "", str)


def _expand_text(text: dict[str, Any], read_blob: ReadBlob) -> object:
    """Return a kept text; arguments of a tool, which are JSON themselves, as what they hold."""
    whole = (read_blob(text["sha"]) if text.get("sha") else None) or text["head"]
    if whole[:1] in {"{", "["}:
        try:
            return decode_json(whole)
        except ValueError:
            return whole
    return whole


def build_match_expression(query: str) -> str:
    """Build an FTS5 expression of words that all must occur, "phrases", and beginnings*.

    It is empty if there is no word in it.

    Nothing in a query can be an error: whatever is no word is passed over.
    """
    parts = []
    for phrase, word in _WORD.findall(query):
        is_beginning = word.endswith("*")
        text = (phrase or word).replace('"', " ")
        text = "".join(char if char.isprintable() else " " for char in text)
        if any(char.isalnum() for char in text):
            parts.append(f'"{text}" *' if is_beginning else f'"{text}"')
    return " AND ".join(parts)


def build_phrase(name: str) -> str:
    """Build one phrase of a name; empty if no word is in it."""
    return build_match_expression(f'"{name.replace(chr(34), " ")}"')

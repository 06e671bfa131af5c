"""The items of a conversation: each has a head in one line, and a text below it."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import NamedTuple

from orchestrator.domain.event import Event, RecordedEvent, work
from orchestrator.domain.text.blob_text import Text
from orchestrator.domain.text.sanitization import strip_controls, to_one_line
from orchestrator.report.log.event_descriptions import describe_event, shorten_model_name
from orchestrator.report.log.tool_calls import format_argument_value, format_tool_call, parse_arguments

ReadBlob = Callable[[str], bytes]
_HEAD_CHARS = 1_000
_LINE_CHARS = 8_000
_MARKS = ("▸▾", ">v")
"""The signs of closed and of open items, in Unicode and in ASCII."""


class TranscriptLevel(IntEnum):
    """The part of a conversation that is shown: its words; its tools as well; everything that was recorded."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


@dataclass(slots=True)
class TranscriptItem:
    """One thing. `events` are one, or a tool's call with what it returned. `is_open` shows the text below its head.

    `below` is how many lines that text has, once they were counted.
    """

    number: int
    at: datetime
    level: TranscriptLevel
    events: list[Event]
    is_open: bool = False
    body_line_count: int | None = None

    def add_result(self, event: Event) -> None:
        """Add the result of a tool to its call."""
        self.events.append(event)
        self.body_line_count = None

    @property
    def last_event(self) -> Event:
        """The newest of its events."""
        return self.events[-1]

    @property
    def style(self) -> str:
        """The name of the style of its head."""
        return _view_event(self.last_event).style

    @property
    def texts(self) -> list[tuple[str, Text]]:
        """The texts below its head, each with a title that may be empty."""
        return [text for event in self.events for text in _view_event(event).texts]

    @property
    def can_open(self) -> bool:
        """True if there is anything below its head."""
        return any(_has_more(title, text) for title, text in self.texts)

    def render_head(self, is_ascii: bool = False) -> str:
        """Return `#39 12:41:07 ▸ tool  shell  pytest -q  ok  0.4 s`, without control characters."""
        mark = _MARKS[is_ascii][self.is_open] if self.can_open else " "
        number, verb = f"#{self.number}", _describe_events(self.events)[0]
        return f"{number:<6} {self.at.astimezone():%H:%M:%S} {mark} {verb:<5} {self.render_summary()}"

    def render_summary(self) -> str:
        """Return what the item says, in one line."""
        return to_one_line(_describe_events(self.events)[1], _HEAD_CHARS)

    def count_lines(self, read_blob: ReadBlob) -> int:
        """Count the lines that are shown now; a blob is read only for an open item."""
        if not self.is_open:
            return 1
        if self.body_line_count is None:
            self.body_line_count = len(list(self.iterate_body_lines(read_blob)))
        return 1 + self.body_line_count

    def iterate_body_lines(self, read_blob: ReadBlob) -> Iterator[str]:
        """Yield the lines below the head, each without what is beyond some thousand characters."""
        for event in self.events:
            for title, text in _view_event(event).texts:
                words = read_whole_text(text, read_blob)
                if isinstance(event, work.ToolCalled):
                    words = format_arguments(words)
                head, *lines = words.split("\n")
                if title:
                    yield title
                    yield cut_line(head)
                yield from map(cut_line, lines)

    def may_contain(self, needle: str, read_blob: ReadBlob) -> bool:
        """Return True if the words or a line below may contain a lower-case text: quick, for very many items."""
        first = self.events[0]
        if not isinstance(first, work.ToolCalled | work.ModelReplied) or not self.texts:
            return True
        if isinstance(first, work.ToolCalled) and needle in first.name:
            return True
        if isinstance(first, work.ModelReplied) and not first.text.size:
            return True
        escaped = json.dumps(needle)[1:-1]  # arguments are JSON
        texts = (read_whole_text(text, read_blob) for _, text in self.texts)
        return any(needle in text.lower() or escaped in text.lower() or not _is_plain(text) for text in texts)


def _is_plain(text: str) -> bool:
    """Return True if the text is shown as it is, but for its ends of lines and tabs."""
    return text.replace("\n", "").replace("\t", "").isprintable()


def read_whole_text(text: Text, read_blob: ReadBlob) -> str:
    """Return the whole of a text."""
    return text.head if text.sha is None else read_blob(text.sha).decode("utf-8", "replace")


def format_arguments(arguments: str) -> str:
    """Return a tool's arguments as `name: value`, with a value of several lines below its name."""
    found = parse_arguments(arguments)
    if found is None:
        return arguments
    lines = []
    for key, value in found.items():
        text = format_argument_value(value)
        gap = " \n"["\n" in text]
        lines.append(f"{key}:{gap}{text}")
    return "\n".join(lines)


def cut_line(line: str) -> str:
    """Return a line without control characters, and without the end of a very long one."""
    if len(line) <= _LINE_CHARS:
        return strip_controls(line)
    return f"{strip_controls(line[:_LINE_CHARS])} [{len(line) - _LINE_CHARS:,} more characters in this line]"


def _has_more(title: str, text: Text) -> bool:
    """Return True if there is text below the head: a text without a title begins in the head."""
    return bool(text.size) if title else "\n" in text.head or not text.is_whole


class _EventView(NamedTuple):
    """An event on the screen: from which level on, the head with the name of its style, and the texts below it."""

    level: TranscriptLevel
    verb: str
    words: str
    style: str = "dim"
    texts: Sequence[tuple[str, Text]] = ()


def _view_event(event: Event) -> _EventView:
    match event:
        case work.ModelReplied() | work.ModelCalled() | work.ModelFailed():
            return _view_model_event(event)
        case work.ToolCalled(name=name, arguments=arguments):
            level = TranscriptLevel.QUIET if name == "request_tier" else TranscriptLevel.NORMAL
            return _EventView(level, "tool", "", "run", [("asked:", arguments)] * bool(arguments.size))
        case work.ToolReturned(ok=ok, observation=text):
            texts = [("returned:", text)] * bool(text.size)
            return _EventView(TranscriptLevel.VERBOSE, "note", describe_event(event), "bad" * (not ok), texts)
        case work.TurnEnded(nudge=nudge) if nudge:
            return _EventView(TranscriptLevel.NORMAL, "note", nudge, texts=[("", Text.build_inline(nudge))])
        case work.TurnEnded():
            return _EventView(TranscriptLevel.VERBOSE, "turn", f"{event.turn + 1} is over")
        case work.SessionStarted() | work.ContextFilled() | work.ConversationCarriedOver() | work.SessionEnded():
            return _view_session_event(event)
    return _EventView(TranscriptLevel.VERBOSE, "note", describe_event(event))


def _view_session_event(
    event: work.SessionStarted | work.ContextFilled | work.ConversationCarriedOver | work.SessionEnded,
) -> _EventView:
    match event:
        case work.SessionStarted():
            words = f"{event.role} on {shorten_model_name(event.model)}, prompt {event.prompt[:12]}"
            texts = [("it is told:", event.brief), ("its instructions:", event.system)]
            return _EventView(TranscriptLevel.QUIET, "begin", words, "title", texts)
        case work.ContextFilled(words=told):
            return _EventView(TranscriptLevel.NORMAL, "note", describe_event(event), texts=[("it is told:", told)])
        case work.ConversationCarriedOver(words=told):
            return _EventView(TranscriptLevel.QUIET, "carry", describe_event(event), "title", [("it is told:", told)])
    return _EventView(TranscriptLevel.QUIET, "end", f"{event.exit} {event.detail}", "title")


def _view_model_event(event: work.ModelReplied | work.ModelCalled | work.ModelFailed) -> _EventView:
    match event:
        case work.ModelReplied(text=text) if text.size:
            words = text.head.partition("\n")[0][:_HEAD_CHARS]
            return _EventView(TranscriptLevel.QUIET, "say", words, "", [("", text), *_list_thoughts(event)])
        case work.ModelReplied(usage=usage):
            tools = ", ".join(call.name for call in event.tool_calls) or "nothing"
            words = f"{tools}  {usage.tokens:,} tokens  cost {usage.cost_text}  {event.seconds:.1f} s"
            return _EventView(TranscriptLevel.VERBOSE, "reply", words, texts=_list_thoughts(event))
        case work.ModelCalled():
            words = f"{shorten_model_name(event.model)}, turn {event.turn + 1}"
            return _EventView(TranscriptLevel.VERBOSE, "call", words)
    texts = [("", Text.build_inline(f"{event.error}: {event.detail}"))]
    return _EventView(TranscriptLevel.QUIET, "fail", describe_event(event), "fail", texts)


def _list_thoughts(event: work.ModelReplied) -> list[tuple[str, Text]]:
    return [("thought before:", event.reasoning)] * bool(event.reasoning.size)


def _describe_events(events: list[Event]) -> tuple[str, str]:
    first, last = events[0], events[-1]
    if not isinstance(first, work.ToolCalled):
        return _view_event(last)[1:3]
    how = "…"
    if isinstance(last, work.ToolReturned):
        how = f"{'ok' if last.ok else 'refused'}  {last.seconds:.1f} s"
    return "tool", f"{format_tool_call(first.name, first.arguments.head)}  {how}"


def build_item(number: int, recorded: RecordedEvent) -> TranscriptItem:
    """Build the item of an event. Words that are whole in their event are shown whole."""
    event = recorded.event
    is_open = isinstance(event, work.ModelReplied) and event.text.is_whole and event.text.size > 0
    return TranscriptItem(number, recorded.at, _view_event(event).level, [event], is_open)

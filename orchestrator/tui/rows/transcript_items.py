"""The items of a conversation: each has a head in one line, and a text below it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

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
        match self.last_event:
            case work.ModelReplied(text=text) if text.size:
                return ""
            case work.ModelFailed():
                return "fail"
            case work.ToolCalled():
                return "run"
            case work.ToolReturned(ok=ok):
                return "bad" * (not ok)
            case work.SessionStarted() | work.SessionEnded():
                return "title"
        return "dim"

    @property
    def texts(self) -> list[tuple[str, Text]]:
        """The texts below its head, each with a title that may be empty."""
        return [text for event in self.events for text in _texts(event)]

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
            for title, text in _texts(event):
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


def _texts(event: Event) -> list[tuple[str, Text]]:
    match event:
        case work.SessionStarted():
            return [("it is told:", event.brief), ("its instructions:", event.system)]
        case work.ModelReplied() if event.text.size:
            return [("", event.text)]
        case work.ToolCalled() if event.arguments.size:
            return [("asked:", event.arguments)]
        case work.ToolReturned() if event.observation.size:
            return [("returned:", event.observation)]
        case work.TurnEnded(nudge=nudge) if nudge:
            return [("", Text.build_inline(nudge))]
        case work.ModelFailed():
            return [("", Text.build_inline(f"{event.error}: {event.detail}"))]
    return []


def _describe_events(events: list[Event]) -> tuple[str, str]:
    first, last = events[0], events[-1]
    if isinstance(first, work.ToolCalled):
        how = "…"
        if isinstance(last, work.ToolReturned):
            how = f"{'ok' if last.ok else 'refused'}  {last.seconds:.1f} s"
        return "tool", f"{format_tool_call(first.name, first.arguments.head)}  {how}"
    return _describe_event(last)


def _describe_event(event: Event) -> tuple[str, str]:
    match event:
        case work.ModelReplied(text=text) if text.size:
            return "say", text.head.partition("\n")[0][:_HEAD_CHARS]
        case work.ModelReplied(usage=usage):
            tools = ", ".join(call.name for call in event.tool_calls) or "nothing"
            return "reply", f"{tools}  {usage.tokens:,} tokens  {usage.cost_text}  {event.seconds:.1f} s"
        case work.ModelCalled():
            return "call", f"{shorten_model_name(event.model)}, turn {event.turn + 1}"
        case work.ModelFailed():
            return "fail", describe_event(event)
        case work.TurnEnded():
            return ("note", event.nudge) if event.nudge else ("turn", f"{event.turn + 1} is over")
        case work.SessionStarted():
            return "begin", f"{event.role} on {shorten_model_name(event.model)}, prompt {event.prompt[:12]}"
        case work.SessionEnded():
            return "end", f"{event.exit} {event.detail}"
    return "note", describe_event(event)


def get_event_level(event: Event) -> TranscriptLevel:
    """Return the level from which on an event is shown."""
    match event:
        case work.ModelReplied(text=text):
            return TranscriptLevel.QUIET if text.size else TranscriptLevel.VERBOSE
        case work.ToolCalled(name="request_tier"):
            return TranscriptLevel.QUIET
        case work.ToolCalled():
            return TranscriptLevel.NORMAL
        case work.TurnEnded(nudge=nudge) if nudge:
            return TranscriptLevel.NORMAL
        case work.SessionStarted() | work.SessionEnded() | work.ModelFailed():
            return TranscriptLevel.QUIET
    return TranscriptLevel.VERBOSE


def build_item(number: int, recorded: RecordedEvent) -> TranscriptItem:
    """Build the item of an event. Words that are whole in their event are shown whole."""
    event = recorded.event
    is_open = isinstance(event, work.ModelReplied) and event.text.is_whole and event.text.size > 0
    return TranscriptItem(number, recorded.at, get_event_level(event), [event], is_open)

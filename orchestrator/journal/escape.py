"""Words that UTF-8 cannot hold: halves of characters, as they come from a model or from the name of a file."""

import json

from pydantic_core import PydanticSerializationError

from orchestrator.domain.event import Event, parse_event, to_body


def escaped(text: str) -> str:
    r"""The text with each lone surrogate spelled out, `\ud800`; the same text if there is none."""
    return text.encode("utf-8", "backslashreplace").decode()


def storable(event: Event) -> Event:
    """The event as it will be read again: itself, or with its lone surrogates spelled out."""
    try:
        event.model_dump_json()
    except (PydanticSerializationError, UnicodeEncodeError):
        return parse_event(event.kind, event.v, json.dumps(_spelled(json.loads(to_body(event)))))
    return event


def _spelled(value: object) -> object:
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, dict):
        return {escaped(key): _spelled(item) for key, item in value.items()}
    return [_spelled(item) for item in value] if isinstance(value, list) else value

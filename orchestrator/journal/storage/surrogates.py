"""The second wall before the disk: an event whose words UTF-8 cannot hold is changed so that it can be read again."""

import json

from pydantic_core import PydanticSerializationError

from orchestrator.domain.event import Event, format_event_body, parse_event
from orchestrator.domain.text.encoding import make_value_encodable


def escape_surrogates(event: Event) -> Event:
    """Return the event as it will be read again: itself, or with its lone surrogates spelled out."""
    try:
        event.model_dump_json()
    except (PydanticSerializationError, UnicodeEncodeError):
        return parse_event(event.kind, event.v, json.dumps(make_value_encodable(json.loads(format_event_body(event)))))
    return event

"""All events, and the one place that turns stored JSON back into them."""

import json
from itertools import chain
from typing import Any

from orchestrator.domain.event import (
    external,
    forge,
    guests,
    hosts,
    landing,
    memory,
    migration,
    people,
    policy,
    run,
    verification,
    work,
)
from orchestrator.domain.event.base import Done as Done
from orchestrator.domain.event.base import Event as Event
from orchestrator.domain.event.base import Intent as Intent
from orchestrator.domain.event.base import RecordedEvent as RecordedEvent


class UnknownEventError(ValueError):
    """A kind or version this program does not know: the journal was written by another version of it."""


def _list_concrete(cls: type[Event]) -> list[type[Event]]:
    return list(chain.from_iterable(map(_list_concrete, cls.__subclasses__()))) or [cls]


_MODULES = (forge, landing, migration, external, people, run, verification, work, memory, policy, guests, hosts)
EVENT_CLASSES: dict[tuple[str, int], type[Event]] = {
    (cls.model_fields["kind"].default, cls.model_fields["v"].default): cls
    for cls in _list_concrete(Event)
    if cls not in {Event, Intent, Done}
}
"""(kind, version) → class. Importing this package imports every module of events."""


def parse_event(kind: str, version: int, body: str | bytes) -> Event:
    """Rebuild an event from its stored JSON body.

    Raises:
        UnknownEventError: no class has this kind and version.
        pydantic.ValidationError: the body does not have the shape of its version.
    """
    cls = EVENT_CLASSES.get((kind, version))
    if cls is None:
        known = sorted(v for k, v in EVENT_CLASSES if k == kind)
        hint = f"this program knows version {known}" if known else "this program does not know the kind"
        raise UnknownEventError(f"event {kind!r} version {version}: {hint}")
    return cls.model_validate_json(body)


def format_event_body(event: Event) -> str:
    """Return the JSON body to store: everything but `kind` and `v`, which have columns of their own."""
    data: dict[str, Any] = event.model_dump(mode="json", exclude={"kind", "v"}, exclude_defaults=True)
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))

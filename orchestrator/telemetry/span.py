"""A span of a trace as our own data, without any package of OpenTelemetry's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

AttributeValue = str | int | float | bool | tuple[str, ...]
Attributes = Mapping[str, AttributeValue]


class FinishedSpan(NamedTuple):
    """A span that has ended; `key` is its name among the run's, `parent` that of the one around it.

    `error` is the `error.type`, empty where nothing failed. `seq` is the event that ended it. `is_client` tells that it
    is a request to somebody else.
    """

    key: str
    parent: str | None
    title: str
    start: datetime
    end: datetime
    attributes: Attributes
    error: str
    seq: int
    is_client: bool


@dataclass
class OpenSpan:
    """A span that has begun."""

    key: str
    parent: str | None
    title: str
    start: datetime
    attributes: dict[str, AttributeValue] = field(default_factory=dict)
    is_client: bool = False

    def end_at(self, end: datetime, seq: int, error: str, added: Attributes) -> FinishedSpan:
        """Return the span as it ends, with more attributes."""
        attributes = {**self.attributes, **added}
        if error:
            attributes["error.type"] = error
        end = max(end, self.start)
        return FinishedSpan(self.key, self.parent, self.title, self.start, end, attributes, error, seq, self.is_client)

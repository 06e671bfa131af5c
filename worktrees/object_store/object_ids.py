"""Ids of objects, which always name the same content: what is known of one need not be asked twice."""

import re
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


def is_object_id(*names: str) -> bool:
    """Return True if each name is a whole id, and not a branch or an abbreviation, which may mean another object."""
    return all(OBJECT_ID.fullmatch(name) for name in names)


class ImmutableCache(Generic[_Key, _Value]):
    """The latest answers to questions whose answers cannot change; their sizes together are at most `capacity`."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._values: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()

    def get_value(self, key: _Key) -> _Value | None:
        """Return the answer, None if it is not known."""
        kept = self._values.get(key)
        if kept is None:
            return None
        self._values.move_to_end(key)
        return kept[0]

    def store_value(self, key: _Key, value: _Value, size: int = 1) -> _Value:
        """Keep an answer in place of those that were used longest ago, and return it; one that is too large is not."""
        if size > self._capacity:
            return value
        _, before = self._values.pop(key, (value, 0))
        self._values[key] = (value, size)
        self._size += size - before
        while self._size > self._capacity:
            _, (_, oldest) = self._values.popitem(last=False)
            self._size -= oldest
        return value

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
    """The latest answers to questions whose answers cannot change, at most `capacity` of them."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: OrderedDict[_Key, _Value] = OrderedDict()

    def get_value(self, key: _Key) -> _Value | None:
        """Return the answer, None if it is not known."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def store_value(self, key: _Key, value: _Value) -> _Value:
        """Keep an answer in place of the one that was used longest ago, and return it."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._capacity:
            self._values.popitem(last=False)
        return value

"""Other values than the one that a test expects: to be asked for, to see what an object is equal to as well.

Only the text of this module is used, in the process that runs the tests.
"""

from __future__ import annotations

import copy
from typing import Any

FOREIGN, CHANGED, NEAR, CASE = "foreign", "changed", "near", "case"
"""The kinds of other values: nothing equals the first by accident, the last differs only in the case of its letters."""
_PLAIN_TYPES = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, type(None))


class _Unknown:
    """A value of a kind that nothing of a project knows."""

    __slots__ = ()


def change_value(value: Any, *, is_order: bool) -> list[tuple[str, Any]]:
    """Return values other than this one, each with its kind; for an order only the foreign one."""
    found: list[tuple[str, Any]] = [(FOREIGN, _Unknown())]
    if is_order:
        return found
    if value is not None:
        found.append((CHANGED, None))
    if isinstance(value, bool):
        found.append((CHANGED, not value))
    elif isinstance(value, (int, float)):
        found += [(NEAR, value + 1), (NEAR, value - 1), (CHANGED, value + 1000), (CHANGED, value - 1000)]
    elif isinstance(value, (str, bytes)):
        found += _change_text(value)
    elif isinstance(value, (list, tuple)):
        found += [(CHANGED, type(value)([*value, 0])), (CHANGED, type(value)(value[:-1]))]
    elif isinstance(value, dict):
        found.append((CHANGED, {**value, "another key": 0}))
    elif isinstance(value, (set, frozenset)):
        found.append((CHANGED, value | {"another"}))
    else:
        found += _change_attributes(value)
    return [one for one in found if one[0] == FOREIGN or not _is_same(one[1], value)]


def _change_text(value: Any) -> list[tuple[str, Any]]:
    suffix: Any = "x" if isinstance(value, str) else b"x"
    found = [
        (CHANGED, value + suffix),
        (CHANGED, suffix * 3),
        (NEAR, value.strip()),
        (CHANGED, value[: len(value) // 2]),
    ]
    if value.swapcase() != value:
        found.append((CASE, value.swapcase()))
    return found


def _change_attributes(value: Any) -> list[tuple[str, Any]]:
    """Return a copy of an object of which every attribute is another; nothing if it has none to change."""
    attributes = getattr(value, "__dict__", None)
    if not attributes or isinstance(value, type) or callable(value):
        return []
    try:
        changed = copy.copy(value)
        for name in list(attributes):
            changed.__dict__[name] = _Unknown()
    except Exception:  # noqa: BLE001 -- it cannot be copied or changed
        return []
    return [(CHANGED, changed)]


def _is_same(one: Any, other: Any) -> bool:
    return type(one) in _PLAIN_TYPES and type(one) is type(other) and bool(one == other)


def show_value(value: Any) -> str:
    """Return a short text for a value; objects of other classes than Python's own are told by their class."""
    if type(value) is _Unknown:
        return "an object of a class that it cannot know"
    text = repr(value) if type(value) in _PLAIN_TYPES else f"an object of {type(value).__qualname__}"
    return text if len(text) <= 60 else f"{text[:57]}..."

"""Texts that stand for values by type and content, in which no method of the code under test has a say.

Only the text of this module is used, in the sandbox: in the process that records calls and in those that make them
again. It loads nothing but what Python brings.
"""

from __future__ import annotations

import hashlib
from typing import Any

_MAX_NODES = 20_000
_MAX_DEPTH = 12
_PRINTED_WHOLE = (bool, int, float, complex, str, bytes, bytearray, type(None), type(Ellipsis))
_TOLD_BY_REPR = frozenset({"datetime", "decimal", "fractions", "pathlib", "uuid", "ipaddress", "zoneinfo", "range"})
"""Modules of the standard library whose values tell their content."""


class ShapeTooLarge(Exception):
    """A value has more parts than anybody wants to compare."""


class ShapeWriter:
    """Writes one value; `unknown` counts the parts of which only the type is told."""

    def __init__(self) -> None:
        self.unknown = 0
        self._nodes = 0
        self._open: set[int] = set()

    def write_value(self, value: Any, depth: int = 0) -> str:
        """Return the text of a value.

        Raises:
            ShapeTooLarge: it has too many parts.
        """
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise ShapeTooLarge
        kind = type(value)
        if kind in _PRINTED_WHOLE:
            return f"{kind.__name__}:{value!r}"
        if depth > _MAX_DEPTH or id(value) in self._open:
            return "..."
        self._open.add(id(value))
        try:
            return self._write_parts(value, kind, depth + 1)
        finally:
            self._open.discard(id(value))

    def _write_parts(self, value: Any, kind: type, depth: int) -> str:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if isinstance(value, type):
            return f"class {value.__module__}.{value.__qualname__}"
        if kind.__module__.partition(".")[0] in _TOLD_BY_REPR or kind is range:
            return f"{name}:{value!r}"
        inside = self._write_content(value, depth)
        attributes = _list_attributes(value)
        if inside is None and not attributes and not _is_told_whole(value):
            self.unknown += 1
        told = []
        for attribute in sorted(attributes):
            told.append(f"{attribute}={self.write_value(attributes[attribute], depth)}")
        return f"{name}({inside or ''}|{','.join(told)})"

    def _write_content(self, value: Any, depth: int) -> str | None:
        """Return what a container or a value of a built-in type holds; None for other objects."""
        if isinstance(value, dict):
            pairs = []
            for key in dict.keys(value):
                pairs.append(f"{self.write_value(key, depth)}:{self.write_value(dict.__getitem__(value, key), depth)}")
            return ",".join(sorted(pairs))
        if isinstance(value, (list, tuple)):
            base = list if isinstance(value, list) else tuple
            return ",".join([self.write_value(item, depth) for item in base.__iter__(value)])  # type: ignore[arg-type]
        if isinstance(value, (set, frozenset)):
            base_set = set if isinstance(value, set) else frozenset
            return ",".join(sorted([self.write_value(item, depth) for item in base_set.__iter__(value)]))  # type: ignore[arg-type]
        for plain in (int, float, complex, str, bytes, bytearray):
            if isinstance(value, plain):
                return plain.__repr__(value)
        if isinstance(value, BaseException):
            return self.write_value(value.args, depth)
        return None


def _is_told_whole(value: object) -> bool:
    """Return True for an object of a class of Python code, which has no content beside its attributes."""
    return hasattr(value, "__dict__") or hasattr(type(value), "__slots__")


def _list_attributes(value: object) -> dict[str, Any]:
    """Return the attributes that an object itself has, by `__dict__` and `__slots__`, without asking its class."""
    found: dict[str, Any] = {}
    if callable(value):
        return found
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    if type(own) is dict:
        found.update((str(name), part) for name, part in own.items())
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else list(slots):
            descriptor = kind.__dict__.get(name)
            try:
                found[f"{name}"] = descriptor.__get__(value, kind)  # type: ignore[union-attr]
            except Exception:  # noqa: BLE001 -- a slot that nothing was put into
                continue
    return found


def describe_value(value: Any) -> tuple[str, str] | None:
    """Return a hash of a value's type and content, and its beginning for people; None if it tells too little."""
    writer = ShapeWriter()
    try:
        text = writer.write_value(value)
    except Exception:  # noqa: BLE001 -- objects of others may do anything, even here
        return None
    if writer.unknown:
        return None
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest(), _shorten_shape(value, text)


def _shorten_shape(value: Any, text: str) -> str:
    shown = repr(value) if type(value) in _PRINTED_WHOLE else text
    return shown if len(shown) <= 80 else f"{shown[:77]}..."

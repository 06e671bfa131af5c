"""Recipes as TOML text: the same recipe always gives the same text, and reading that gives the same recipe."""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

from orchestrator.domain.recipe.model import Recipe

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


def render_recipe(recipe: Recipe) -> str:
    """The recipe as TOML, without what is as by default."""
    return "\n".join(_table((), recipe.dump_values())).strip("\n") + "\n"


def diff_recipes(old: Recipe, new: Recipe) -> str:
    """What is different in `new`, as a unified diff of both texts; empty if nothing is."""
    before, after = render_recipe(old).splitlines(), render_recipe(new).splitlines()
    names = (f"recipe {old.revision}", f"recipe {new.revision}")
    return "\n".join(unified_diff(before, after, *names, lineterm=""))


def _table(name: tuple[str, ...], values: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a table: what is plain first, as TOML wants it, then the tables in it."""
    plain = {key: value for key, value in values.items() if not _is_table(name, value) and not _is_tables(value)}
    yield from (f"{_key(key)} = {_value(value)}" for key, value in plain.items() if value is not None)
    for key, value in values.items():
        inner = (*name, _key(key))
        if _is_table(name, value):
            yield from ("", f"[{'.'.join(inner)}]", *_table(inner, value))
        elif _is_tables(value):
            for one in value:
                yield from ("", f"[[{'.'.join(inner)}]]", *_table(inner, one))


def _is_table(name: tuple[str, ...], value: object) -> bool:
    """Tables within tables are written in one line."""
    return isinstance(value, dict) and not name


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _key(key: str) -> str:
    if _BARE.match(key):
        return key
    return _basic(key)


def _value(value: object) -> str:
    match value:
        case bool():
            if value:
                return "true"
            return "false"
        case str():
            return _string(value)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            pairs = ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items())
            if pairs:
                return f"{{ {pairs} }}"
            return "{}"
    return repr(value)


def _string(text: str) -> str:
    """Patterns are easier to read where nothing in them is escaped."""
    is_literal = ("\\" in text or '"' in text) and "'" not in text and not _CONTROLS.search(text)
    if is_literal:
        return f"'{text}'"
    return _basic(text)


def _basic(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

"""Recipes as TOML text: the same recipe always gives the same text, and reading that gives the same recipe."""

import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.text.lazy_pattern import compile_lazily

_BARE = compile_lazily(r"[A-Za-z0-9_-]+\Z")
_CONTROLS = compile_lazily(r"[\x00-\x1f\x7f]")


def render_recipe(recipe: Recipe) -> str:
    """Return the recipe as TOML, without what is as by default."""
    return "\n".join(_render_table((), recipe.dump_values())).strip("\n") + "\n"


def diff_recipes(old: Recipe, new: Recipe) -> str:
    """Return what is different in `new`, as a unified diff of both texts; empty if nothing is."""
    before, after = render_recipe(old).splitlines(), render_recipe(new).splitlines()
    names = (f"recipe {old.revision}", f"recipe {new.revision}")
    return "\n".join(unified_diff(before, after, *names, lineterm=""))


def _render_table(name: tuple[str, ...], values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table: what is plain first, as TOML wants it, then the tables in it."""
    for key, value in values.items():
        if value is not None and not _is_table(name, value) and not _is_tables(value):
            yield f"{_format_key(key)} = {_format_value(value)}"
    for key, value in values.items():
        inner = (*name, _format_key(key))
        if _is_table(name, value):
            yield from ("", f"[{'.'.join(inner)}]", *_render_table(inner, value))
        elif _is_tables(value):
            for one in value:
                yield from ("", f"[[{'.'.join(inner)}]]", *_render_table(inner, one))


def _is_table(name: tuple[str, ...], value: object) -> bool:
    """Return True for a table of the recipe; tables within tables are written in one line."""
    return isinstance(value, dict) and not name


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _format_key(key: str) -> str:
    return key if _BARE.match(key) else _format_escaped(key)


def _format_value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _format_string(value)
        case list() | tuple():
            return f"[{', '.join(map(_format_value, value))}]"
        case dict():
            pairs = ", ".join(f"{_format_key(key)} = {_format_value(one)}" for key, one in value.items())
            return f"{{ {pairs} }}" if pairs else "{}"
    return repr(value)


def _format_string(text: str) -> str:
    """Return a TOML string, without escapes where that is possible: patterns are easier to read so."""
    is_literal = ("\\" in text or '"' in text) and "'" not in text and not _CONTROLS.search(text)
    return f"'{text}'" if is_literal else _format_escaped(text)


def _format_escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

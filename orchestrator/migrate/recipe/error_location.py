"""Where in its file a mistake stands that shows only when a recipe is followed: a base, a path, a command."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.config.toml_source import TomlKey, find_key_line, format_dotted_key
from orchestrator.errors import UsageProblem


@contextmanager
def locate_problems(path: Path) -> Iterator[None]:
    """While a recipe of this file is read or followed, what is wrong with a key of it is told with file, line and key.

    What stands elsewhere, such as in the user's configuration, is told as it is.
    """
    try:
        yield
    except UsageProblem as problem:
        if problem.key and (where := _place(path, problem.key)):
            problem.args = (f"{where}: {problem}",)
            problem.key = ()
        raise


def _place(path: Path, parts: TomlKey) -> str:
    """File, line and key; empty if the file does not have the key."""
    try:
        source = path.read_text(encoding="utf-8")
        key = _written(tomllib.loads(source), parts)
    except (OSError, ValueError):
        return ""
    if key:
        return f"{path}:{find_key_line(source, key)}: {format_dotted_key(key)}"
    return ""


def _written(values: Any, parts: TomlKey) -> TomlKey:  # noqa: ANN401
    """The key as the file has it; empty if it does not have it."""
    key: TomlKey = ()
    for part in parts:
        found = _below(values, part)
        if not found:
            return ()
        for one in found:
            values = values[one]
        key = (*key, *found)
    return key


def _below(values: object, part: str | int) -> TomlKey:
    """What a part names: a key, the table of a list with this id or index, or the entry of a list with this text."""
    if isinstance(values, dict):
        if part in values:
            return (part,)
        lists = ((name, entries.index(part)) for name, entries in values.items() if _holds(entries, part))
        return next(lists, ())
    if isinstance(values, list):
        ids = []
        for entry in values:
            ids.append(entry.get("id") if isinstance(entry, dict) else entry)
        place = part if isinstance(part, int) else ids.index(part) if part in ids else len(ids)
        if place < len(ids):
            return (place,)
        return ()
    return ()


def _holds(entries: object, part: str | int) -> bool:
    return isinstance(entries, list) and part in entries

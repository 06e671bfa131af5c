"""The place in its file of a mistake that shows only when a recipe is followed: a base, a path, a command."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.config.toml_source import TomlKey, find_key_line, format_dotted_key
from orchestrator.errors import UsageProblem


@contextmanager
def locate_problems(path: Path) -> Iterator[None]:
    """Name file, line and key in what is wrong with a key of this recipe while it is read or followed.

    What stands elsewhere, such as in the user's configuration, stays as it is.
    """
    try:
        yield
    except UsageProblem as problem:
        if problem.key and (where := _find_place(path, problem.key)):
            problem.args = (f"{where}: {problem}",)
            problem.key = ()
        raise


def _find_place(path: Path, parts: TomlKey) -> str:
    """Return file, line and key; empty if the file does not have the key."""
    try:
        source = path.read_text(encoding="utf-8")
        key = _find_written_key(tomllib.loads(source), parts)
    except (OSError, ValueError):
        return ""
    return f"{path}:{find_key_line(source, key)}: {format_dotted_key(key)}" if key else ""


def _find_written_key(values: Any, parts: TomlKey) -> TomlKey:  # noqa: ANN401
    """Return the key as the file has it; empty if it does not have it."""
    key: TomlKey = ()
    for part in parts:
        found = _find_below(values, part)
        if not found:
            return ()
        for one in found:
            values = values[one]
        key = (*key, *found)
    return key


def _find_below(values: object, part: str | int) -> TomlKey:
    """Return what a part names: a key, the table of a list with this id or index, or the entry with this text."""
    if isinstance(values, dict):
        if part in values:
            return (part,)
        for name, entries in values.items():
            if isinstance(entries, list) and part in entries:
                return (name, entries.index(part))
    if isinstance(values, list):
        for place, entry in enumerate(values):
            if part in (place, entry) or (isinstance(entry, dict) and entry.get("id") == part):
                return (place,)
    return ()

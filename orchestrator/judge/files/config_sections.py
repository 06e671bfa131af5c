"""Files of which only some sections decide about tests and builds: those are compared, the rest may change."""

import configparser
import tomllib
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from orchestrator.domain.text.encoding import decode_json

_Sections = Mapping[str, Any]
_TOOLS = (
    "pytest",
    "coverage",
    "tox",
    "nox",
    "hatch",
    "poe",
    "setuptools",
    "poetry-dynamic-versioning",
    "pdm",
    "mutmut",
)
_NPM = ("scripts", "jest", "mocha", "ava", "tap", "nyc", "c8", "vitest", "overrides", "resolutions")
_INI = ("tool:", "coverage:", "aliases", "nosetests", "unittest", "tox", "testenv", "build")

_ENTRY_POINTS = "options.entry_points"


def has_protected_sections(path: str) -> bool:
    """Whether a file is looked at by sections."""
    return PurePosixPath(path).name in _READERS


def find_altered_sections(path: str, before: bytes | None, after: bytes | None) -> tuple[str, ...] | None:
    """The protected sections that differ, by name; None if the file is none that is looked at by sections.

    A file that cannot be read any more differs as a whole; None as content stands for no file.
    """
    reader = _READERS.get(PurePosixPath(path).name)
    if reader is None:
        return None
    try:
        old, new = ({} if content is None else reader(content.decode()) for content in (before, after))
    except (ValueError, RecursionError, configparser.Error) as error:
        return (f"the whole file, which cannot be read ({str(error).splitlines()[0]})",)
    return tuple(sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)))


def _pyproject(text: str) -> _Sections:
    values = tomllib.loads(text)
    tools, project = _table(values.get("tool")), _table(values.get("project"))
    found = {}
    for name in _TOOLS:
        if name in tools:
            found[f"tool.{name}"] = tools[name]
    found |= {"build-system": values["build-system"]} if "build-system" in values else {}
    plugins = {}
    for name, value in _table(project.get("entry-points")).items():
        if name.startswith("pytest"):
            plugins[name] = value
    return found | {f"project.entry-points.{name}": value for name, value in plugins.items()}


def _package_json(text: str) -> _Sections:
    values = _table(decode_json(text))
    return {name: values[name] for name in _NPM if name in values}


def _setup_cfg(text: str) -> _Sections:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.read_string(text)
    found: dict[str, Any] = {name: dict(parser.items(name)) for name in parser.sections() if name.startswith(_INI)}
    plugins = parser.items(_ENTRY_POINTS) if parser.has_section(_ENTRY_POINTS) else []
    return found | {f"{_ENTRY_POINTS}.{name}": value for name, value in plugins if name.startswith("pytest")}


def _table(value: object) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    return {}


_READERS: Mapping[str, Callable[[str], _Sections]] = {
    "pyproject.toml": _pyproject,
    "package.json": _package_json,
    "setup.cfg": _setup_cfg,
}

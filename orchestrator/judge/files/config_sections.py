"""Files of which only some sections decide about tests and builds: those are compared, the rest may change."""

import configparser
import tomllib
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from orchestrator.domain.text.encoding import decode_json

_Sections = Mapping[str, Any]
_TOOLS = (
    *("pytest", "coverage", "tox", "nox", "hatch", "poe", "setuptools"),
    *("poetry-dynamic-versioning", "pdm", "mutmut"),
)
_NPM = ("scripts", "jest", "mocha", "ava", "tap", "nyc", "c8", "vitest", "overrides", "resolutions")
_INI = ("tool:", "coverage:", "aliases", "nosetests", "unittest", "tox", "testenv", "build")

_ENTRY_POINTS = "options.entry_points"


def has_protected_sections(path: str) -> bool:
    """Return True if a file is looked at by sections."""
    return PurePosixPath(path).name in _READERS


def find_altered_sections(path: str, before: bytes | None, after: bytes | None) -> tuple[str, ...] | None:
    """Return the names of the protected sections that differ; None if the file is none that is looked at by sections.

    A file that cannot be read any more differs as a whole; None as content stands for no file.
    """
    reader = _READERS.get(PurePosixPath(path).name)
    if reader is None:
        return None
    try:
        old, new = _read_sections(reader, before), _read_sections(reader, after)
    except (ValueError, RecursionError, configparser.Error) as error:
        return (f"the whole file, which cannot be read ({str(error).splitlines()[0]})",)
    return tuple(name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name))


def _read_sections(reader: Callable[[str], _Sections], content: bytes | None) -> _Sections:
    return {} if content is None else reader(content.decode())


def _read_pyproject(text: str) -> _Sections:
    values = tomllib.loads(text)
    tools, project = _get_table(values.get("tool")), _get_table(values.get("project"))
    sections: dict[str, Any] = {f"tool.{name}": tools[name] for name in _TOOLS if name in tools}
    if "build-system" in values:
        sections["build-system"] = values["build-system"]
    for name, value in _get_table(project.get("entry-points")).items():
        if name.startswith("pytest"):
            sections[f"project.entry-points.{name}"] = value
    return sections


def _read_package_json(text: str) -> _Sections:
    values = _get_table(decode_json(text))
    return {name: values[name] for name in _NPM if name in values}


def _read_setup_cfg(text: str) -> _Sections:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.read_string(text)
    sections: dict[str, Any] = {}
    for name in parser.sections():
        if name.startswith(_INI):
            sections[name] = dict(parser.items(name))
    if parser.has_section(_ENTRY_POINTS):
        for name, value in parser.items(_ENTRY_POINTS):
            if name.startswith("pytest"):
                sections[f"{_ENTRY_POINTS}.{name}"] = value
    return sections


def _get_table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


_READERS: Mapping[str, Callable[[str], _Sections]] = {
    "pyproject.toml": _read_pyproject,
    "package.json": _read_package_json,
    "setup.cfg": _read_setup_cfg,
}

"""The settings of the user's own pip and npm, as these tools print them.

They are asked from the top directory, where no file of a repository counts, and never one that lies in a repository.
"""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.hands.sandbox.program_search import find_program_outside

_TIMEOUT_S = 20.0
_SETTING = compile_lazily(r"^(?P<section>[^\s=]+)\.(?P<key>[a-z-]+)=(?P<value>.*)$", re.MULTILINE)
_SECTIONS = ("global", "install", ":env:")
_DEFAULT_INDEX = compile_lazily(r"--index-url <url>.*?\(default (\S+?)\)", re.DOTALL)
_WIDE = {"COLUMNS": "4000"}
"""So that the help breaks no line within an address."""


@dataclass(frozen=True)
class PipSettings:
    """Addresses as configured, credentials included; `certificate` and `timeout` are empty where none is set."""

    indexes: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    trusted_hosts: tuple[str, ...] = ()
    certificate: str = ""
    timeout: str = ""


@dataclass(frozen=True)
class NpmSettings:
    """Registries by the name of their setting: `registry`, and `@scope:registry` for each scope."""

    registries: Mapping[str, str] = field(default_factory=dict)
    certificate: str = ""
    is_strict: bool = True


def read_pip_settings(environ: Mapping[str, str], untrusted: Iterable[Path]) -> PipSettings | None:
    """Return the settings of the user's pip; None where there is no pip. Blocks."""
    pip = _find_pip(environ, untrusted)
    if pip is None:
        return None
    output = _read_output([*pip, "config", "list"], environ)
    values: dict[str, str] = {}
    for section in _SECTIONS:
        found = (match for match in _SETTING.finditer(output) if match["section"] == section)
        values |= {match["key"]: _parse_literal(match["value"]) for match in found}
    ignores_index = values.get("no-index", "").lower() in ("1", "true", "yes", "on")
    indexes: tuple[str, ...] = ()
    if not ignores_index:
        main_index = values.get("index-url") or _read_default_index(pip, environ)
        indexes = (main_index, *values.get("extra-index-url", "").split())
    return PipSettings(
        indexes=tuple(filter(None, indexes)),
        find_links=tuple(values.get("find-links", "").split()),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        certificate=values.get("cert", ""),
        timeout=values.get("timeout", values.get("default-timeout", "")),
    )


def read_npm_settings(environ: Mapping[str, str], untrusted: Iterable[Path]) -> NpmSettings | None:
    """Return the settings of the user's npm; None where there is no npm. Blocks."""
    npm = find_program_outside("npm", environ.get("PATH", "").split(os.pathsep), untrusted)
    if npm is None:
        return None
    try:
        settings = json.loads(_read_output([str(npm), "config", "ls", "--json"], environ))
    except ValueError:
        settings = {}
    names = [name for name in settings if name == "registry" or re.fullmatch(r"@[^:]+:registry", name)]
    return NpmSettings(
        registries={name: str(settings[name]) for name in names},
        certificate=str(settings.get("cafile") or ""),
        is_strict=settings.get("strict-ssl") is not False,
    )


def _find_pip(environ: Mapping[str, str], untrusted: Iterable[Path]) -> Sequence[str] | None:
    if importlib.util.find_spec("pip"):
        return (sys.executable, "-I", "-m", "pip")
    folders, untrusted = environ.get("PATH", "").split(os.pathsep), tuple(untrusted)
    for name in ("pip3", "pip"):
        if pip := find_program_outside(name, folders, untrusted):
            return (str(pip),)
    return None


def _read_default_index(pip: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return pip's built-in index, which only its help shows."""
    found = _DEFAULT_INDEX.search(_read_output([*pip, "install", "--help"], {**environ, **_WIDE}))
    return found[1] if found else ""


def _read_output(words: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the output of a tool; "" if it fails."""
    with suppress(OSError, subprocess.SubprocessError):
        nothing, env = subprocess.DEVNULL, dict(environ)
        return subprocess.check_output(
            words, stdin=nothing, stderr=nothing, text=True, timeout=_TIMEOUT_S, cwd="/", env=env
        )
    return ""


def _parse_literal(text: str) -> str:
    try:
        return str(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return text

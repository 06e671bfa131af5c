"""The plugin of the guard under drawn names, and the keys of its seals: what a check gets beside its command."""

import base64
import secrets
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from orchestrator.judge.gate.check_command import GUARD_VARIABLE, SandboxInjection
from orchestrator.judge.guard.word_lists import NOUNS, OBJECTS, VERBS

MAX_GUARDED_RUNNERS = 32
"""So many runners of a base's check can be guarded; later runs get a key for each that there was."""
_PARTS = (
    *(("guard", part) for part in ("controller.py", "integrity.py", "canary_tests.py")),
    *(("behaviour", part) for part in ("value_shapes.py", "call_recorder.py")),
    *(("behaviour", part) for part in ("other_values.py", "comparison_probe.py")),
    ("guard", "pytest_plugin.py"),
)
_TAKEN_OUT = ("from __future__ ", "from orchestrator.")
_PREFIX = "_orchestrate"
_LOADING_SCRIPT = f"""\
exec 9<&0 </dev/null
IFS= read -r {_PREFIX}_name <&9; IFS= read -r {_PREFIX}_text <&9
printf '%s\\n%s\\n' "${GUARD_VARIABLE}" "$PWD" >>/proc/self/fd/9
{_PREFIX}_folder=$(mktemp -d) && printf '%s\\n' "${_PREFIX}_text" >"${_PREFIX}_folder/${_PREFIX}_name.py"
export PYTHONPATH="${_PREFIX}_folder${{PYTHONPATH:+:$PYTHONPATH}}"
export PYTEST_ADDOPTS="${{PYTEST_ADDOPTS:-}} -p ${_PREFIX}_name"
unset {_PREFIX}_name {_PREFIX}_text {_PREFIX}_folder {GUARD_VARIABLE}
"""
_STUB = (
    "import os, sys; q = sys.path; d = os.path.dirname(os.__file__); "
    'sys.path = [p for p in q if p.startswith(d) and "-packages" not in p] or q; '
    "import ast, base64, copy, fcntl, hashlib, json, math, pathlib, pickle, random, re, select, signal, unittest; "
    "import zlib; sys.path = q; "
    'exec(compile(zlib.decompress(base64.b64decode("{text}")), "<{name}>", "exec"))  # pragma: no cover'
)
"""One line, which loads what Python brings from nowhere else, and then runs the text."""


@dataclass(frozen=True)
class GuardInjection:
    """A guard for one run of a check; `keys` are those with which its reports may be sealed."""

    sandbox: SandboxInjection
    keys: tuple[str, ...]


def build_guard_injection(
    runners: int, *, has_canaries: bool, known_plugins: Sequence[str] = (), modules: Sequence[str] = ()
) -> GuardInjection:
    """Return a guard for so many test runners, with names that are drawn anew. Blocks while sources are read.

    `known_plugins` are those that the base's run had in force; empty if nobody knows. Calls of functions in `modules`,
    by their paths, are recorded.
    """
    plugin = _draw_word()
    names = {}
    if has_canaries:
        for function in _list_canaries():
            names[f"test_{_draw_words()}"] = function
    recorded = {plugin: "guard"}
    recorded |= {name: function.replace("_", "-") for name, function in names.items()}
    source = (
        f"{_read_sources()}\nbegin_guard({plugin!r}, {names!r}, {[*known_plugins]!r})\nrecord_calls({[*modules]!r})\n"
    )
    text = base64.b64encode(zlib.compress(source.encode(), 9)).decode()
    keys = tuple(secrets.token_hex(32) for _ in range(runners))
    order = f"{plugin}\n{_STUB.format(text=text, name=plugin)}\n{' '.join(keys)}\n"
    return GuardInjection(SandboxInjection(_LOADING_SCRIPT, order, recorded), keys)


def _draw_word() -> str:
    """Return a name for a module that looks like a project's and is none."""
    return f"{secrets.choice(NOUNS)}_{secrets.choice(OBJECTS)}{secrets.randbelow(1_000_000)}"


def _draw_words() -> str:
    return f"{secrets.choice(VERBS)}_{secrets.choice(NOUNS)}_{secrets.choice(OBJECTS)}_{secrets.randbelow(10_000)}"


@lru_cache(maxsize=1)
def _list_canaries() -> tuple[str, ...]:
    """Return the names of the canaries, from their source: importing it would load pytest."""
    source = files("orchestrator.judge.guard").joinpath("canary_tests.py").read_text()
    found = []
    for line in source.splitlines():
        if line.startswith(("def pass_", "def fail_", "def skip_")):
            found.append(line[4:].partition("(")[0])
    return tuple(found)


@lru_cache(maxsize=1)
def _read_sources() -> str:
    """Return the text that runs in the sandbox: the parts one after the other, without imports of each other."""
    return "from __future__ import annotations\n" + "\n".join(_iterate_lines())


def _iterate_lines() -> Iterator[str]:
    for room, part in _PARTS:
        for line in files(f"orchestrator.judge.{room}").joinpath(part).read_text().splitlines():
            if not line.startswith(_TAKEN_OUT):
                yield line

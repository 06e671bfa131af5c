"""The texts of this room that go into the sandbox, put together without imports of each other."""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files

from orchestrator.domain.judging.run_trace import FunctionCall

_LEFT_OUT = ("from __future__ ", "from orchestrator.")
_PLACE = 'os.path.splitext(os.path.abspath(__file__))[0] + ".txt"'
_PLAIN_END = "replay_calls(CALLS, open(TARGET).read(), os.getcwd())\n"
_ARGV_START = """\
import importlib.util
sys.argv[:] = [os.path.join(os.path.dirname(importlib.util.find_spec("pytest").origin), "__main__.py")]
"""
_TEST_END = "import unittest\n\n\ndef {name}():\n    replay_calls(CALLS, open(TARGET).read(), os.getcwd())\n"


@lru_cache(maxsize=8)
def read_sources(*parts: str) -> str:
    """Return the modules of these names as one text, which imports nothing of ours. Blocks."""
    return "from __future__ import annotations\n" + "\n".join(_iterate_lines(parts))


def _iterate_lines(parts: Sequence[str]) -> Iterator[str]:
    for part in parts:
        for line in files("orchestrator.judge.behaviour").joinpath(f"{part}.py").read_text().splitlines():
            if not line.startswith(_LEFT_OUT):
                yield line


def build_plain_script(calls: Sequence[FunctionCall], *, has_argv: bool) -> str:
    """Return a script that makes calls again outside any test run; with `has_argv` it looks started as pytest is."""
    return _build_start(calls) + (_ARGV_START if has_argv else "") + _PLAIN_END


def build_test_module(calls: Sequence[FunctionCall], name: str) -> str:
    """Return a test module that makes calls again within a test of this name."""
    return _build_start(calls) + _TEST_END.format(name=name)


def _build_start(calls: Sequence[FunctionCall]) -> str:
    order = [[call.path, call.module, call.name, call.arguments] for call in calls]
    sources = read_sources("value_shapes", "replay_script")
    return f"{sources}\n\nTARGET = {_PLACE}\nCALLS = json.loads({json.dumps(json.dumps(order))})\n"

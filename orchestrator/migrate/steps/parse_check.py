"""The check that a file still parses. A file that did not parse before cannot be judged this way and passes."""

import ast
import json
import threading
import tomllib
import warnings
from collections.abc import Callable
from pathlib import PurePosixPath

from orchestrator.judge.reports.telling_line import find_telling_line

_Parser = Callable[[bytes], object]

_ONE_AT_A_TIME = threading.Lock()
"""CPython 3.11 counts the recursion of `ast` for all threads together (python/cpython#106905)."""


def find_parse_error(path: str, before: bytes, after: bytes) -> str:
    """Return what keeps `after` from parsing where `before` did; empty if nothing does, or nobody here can tell."""
    parser = _PARSERS.get(PurePosixPath(path).suffix)
    return "" if parser is None or _parse(parser, before) else _parse(parser, after)


def _parse(parser: _Parser, content: bytes) -> str:
    try:
        parser(content)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return ""


def _python(content: bytes) -> object:
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(content)


def _json(content: bytes) -> object:
    parsed: object = json.loads(content)
    return parsed


def _toml(content: bytes) -> object:
    return tomllib.loads(content.decode())


_PARSERS: dict[str, _Parser] = {".py": _python, ".pyi": _python, ".json": _json, ".toml": _toml}

NODE_SUFFIXES = (".js", ".cjs", ".mjs")
"""Files that node can check; see `build_node_check`."""


def build_node_check(path: str) -> str:
    """Return a shell command that fails if node does not parse the file; it succeeds where there is no node."""
    return f"! command -v node >/dev/null || node --check {path}"


def describe_node_error(printed: str) -> str:
    """Return the line of `node --check` that says why it does not parse a file."""
    return find_telling_line(printed) or "node refuses it"

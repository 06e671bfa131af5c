"""Whether a file still parses. A file that did not parse before cannot be judged this way and passes."""

import ast
import json
import threading
import tomllib
import warnings
from collections.abc import Callable
from pathlib import PurePosixPath

_Parser = Callable[[bytes], object]

_ONE_AT_A_TIME = threading.Lock()
"""CPython 3.11 counts the recursion of `ast` for all threads together (python/cpython#106905)."""


def find_parse_error(path: str, before: bytes, after: bytes) -> str:
    """What keeps `after` from parsing where `before` did; empty if nothing does, or nobody here can tell."""
    parser = _PARSERS.get(PurePosixPath(path).suffix)
    if parser is None or _error(parser, before):
        return ""
    return _error(parser, after)


def _error(parser: _Parser, content: bytes) -> str:
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
"""Files that node can check; see `node_check`."""


def build_node_check(path: str) -> str:
    """A shell command that tells by its exit code whether node parses the file, and says nothing without node."""
    return f"! command -v node >/dev/null || node --check {path}"

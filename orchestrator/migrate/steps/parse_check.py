"""The check that a file still parses. A file that did not parse before cannot be judged this way and passes."""

import json
import tomllib
from collections.abc import Callable
from pathlib import PurePosixPath

from orchestrator.judge.reports.telling_line import find_telling_line
from orchestrator.judge.source.python_syntax import parse_source

_Parser = Callable[[bytes], object]


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


def _parse_toml(content: bytes) -> object:
    return tomllib.loads(content.decode())


_PARSERS: dict[str, _Parser] = {".py": parse_source, ".pyi": parse_source, ".json": json.loads, ".toml": _parse_toml}

NODE_SUFFIXES = (".js", ".cjs", ".mjs")
"""Files that node can check; see `build_node_check`."""


def build_node_check(path: str) -> str:
    """Return a shell command that fails if node does not parse the file; it succeeds where there is no node."""
    return f"! command -v node >/dev/null || node --check {path}"


def describe_node_error(printed: str) -> str:
    """Return the line of `node --check` that says why it does not parse a file."""
    return find_telling_line(printed) or "node refuses it"

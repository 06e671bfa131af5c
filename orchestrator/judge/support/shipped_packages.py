"""The top-level packages of a repository that its own metadata ships, as far as that says so in plain words."""

import ast
import configparser
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from orchestrator.judge.source.python_syntax import find_nodes, parse_python

_ROOTS = ("", "src/", "lib/")
_Table = Mapping[str, object]


def find_shipped_packages(metadata: Mapping[str, bytes], paths: Collection[str]) -> frozenset[str] | None:
    """Return the names of top-level packages and modules that are shipped; None where nobody can tell.

    `metadata` are the contents of pyproject.toml, setup.cfg and setup.py by their paths.
    """
    named = _read_pyproject(metadata.get("pyproject.toml", b""))
    named |= _read_setup_cfg(metadata.get("setup.cfg", b""))
    named |= _read_setup_py(metadata.get("setup.py", b""))
    shipped = set()
    for name in named:
        top = re.sub(r"^(?:src|lib)[/.]", "", name).replace("/", ".").partition(".")[0].replace("-", "_")
        if exists_at_top(top, paths):
            shipped.add(top)
    return frozenset(shipped) or None


def get_top_level_name(path: str) -> str:
    """Return the top-level package or module that a file of Python belongs to."""
    for root in _ROOTS[1:]:
        path = path.removeprefix(root)
    return path.partition("/")[0].removesuffix(".py")


def exists_at_top(name: str, paths: Collection[str]) -> bool:
    """Return True if a repository has a top-level module or directory of code of this name."""
    for root in _ROOTS:
        if f"{root}{name}.py" in paths or any(path.startswith(f"{root}{name}/") for path in paths):
            return True
    return False


def _read_pyproject(content: bytes) -> set[str]:
    with suppress(ValueError):
        values = tomllib.loads(content.decode())
        tools = _get_table(values, "tool")
        setuptools, wheel = _get_table(tools, "setuptools"), tools
        for key in ("hatch", "build", "targets", "wheel"):
            wheel = _get_table(wheel, key)
        named = _list_texts(setuptools.get("packages")) | _list_texts(setuptools.get("py-modules"))
        named |= _list_texts(wheel.get("packages")) | _list_texts(
            [_get_table(_get_table(tools, "flit"), "module").get("name")]
        )
        included = _get_table(tools, "poetry").get("packages")
        for one in included if isinstance(included, list) else ():
            if isinstance(one, Mapping):
                named |= _list_texts([one.get("include")])
        return named or _list_texts(
            [_get_table(values, "project").get("name"), _get_table(tools, "poetry").get("name")]
        )
    return set()


def _read_setup_cfg(content: bytes) -> set[str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    with suppress(configparser.Error, ValueError):
        parser.read_string(content.decode())
        texts = [parser.get("options", key, fallback="") for key in ("packages", "py_modules")]
        words = re.split(r"[\s,]+", " ".join(texts))
        return {word for word in words if re.fullmatch(r"[A-Za-z_][\w.]*", word)}
    return set()


def _read_setup_py(content: bytes) -> set[str]:
    tree = parse_python(content)
    named = set[str]()
    for call in find_nodes(tree, ast.Call) if tree else ():
        for keyword in call.keywords:
            if keyword.arg in {"packages", "py_modules"}:
                with suppress(ValueError):
                    named |= _list_texts(ast.literal_eval(keyword.value))
    return named


def _get_table(table: _Table, key: str) -> _Table:
    value = table.get(key)
    return value if isinstance(value, Mapping) else {}


def _list_texts(values: object) -> set[str]:
    if not isinstance(values, Iterable) or isinstance(values, str | Mapping):
        return set()
    return {value for value in values if isinstance(value, str)}

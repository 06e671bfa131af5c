"""The top-level packages of a repository that its own metadata ships, as far as that says so in plain words."""

import ast
import configparser
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from orchestrator.judge.source.python_syntax import find_nodes, parse_python

_ROOTS = ("", "src/", "lib/")
_Table = Mapping[str, object]


class ShippedPackages(NamedTuple):
    """The top-level packages and modules that are shipped; `is_listed` if the metadata lists them.

    Otherwise they are those that are called as the project is.
    """

    names: frozenset[str]
    is_listed: bool


def find_shipped_packages(metadata: Mapping[str, bytes], paths: Collection[str]) -> ShippedPackages | None:
    """Return what is shipped; None where nobody can tell.

    `metadata` are the contents of pyproject.toml, setup.cfg and setup.py by their paths.
    """
    project = _read_toml(metadata.get("pyproject.toml", b""))
    listed = _list_packages(_get_table(project, "tool"))
    listed |= _read_setup_cfg(metadata.get("setup.cfg", b"")) | _read_setup_py(metadata.get("setup.py", b""))
    if names := _find_top_level(listed, paths):
        return ShippedPackages(names, is_listed=True)
    own = [_get_table(project, "project"), _get_table(_get_table(project, "tool"), "poetry")]
    if names := _find_top_level(_list_texts([table.get("name") for table in own]), paths):
        return ShippedPackages(names, is_listed=False)
    return None


def _find_top_level(named: Iterable[str], paths: Collection[str]) -> frozenset[str]:
    found = set()
    for name in named:
        top = re.sub(r"^(?:src|lib)[/.]", "", name).replace("/", ".").partition(".")[0].replace("-", "_")
        if find_roots(top, paths):
            found.add(top)
    return frozenset(found)


def get_top_level_name(path: str) -> str:
    """Return the top-level package or module that a file of Python belongs to."""
    path = path.removeprefix(get_root(path))
    return path.partition("/")[0].removesuffix(".py")


def find_roots(name: str, paths: Collection[str]) -> frozenset[str]:
    """Return those of the top, `src/` and `lib/` in which there is a module or directory of code of this name."""
    roots = set()
    for root in _ROOTS:
        if f"{root}{name}.py" in paths or any(path.startswith(f"{root}{name}/") for path in paths):
            roots.add(root)
    return frozenset(roots)


def get_root(path: str) -> str:
    """Return the root that a file lies below, as `find_roots` names them."""
    for root in _ROOTS[1:]:
        if path.startswith(root):
            return root
    return ""


def _read_toml(content: bytes) -> _Table:
    with suppress(ValueError):
        return tomllib.loads(content.decode())
    return {}


def _list_packages(tools: _Table) -> set[str]:
    """Return what the tables of build backends list."""
    wheel = tools
    for key in ("hatch", "build", "targets", "wheel"):
        wheel = _get_table(wheel, key)
    setuptools, flit = _get_table(tools, "setuptools"), _get_table(_get_table(tools, "flit"), "module")
    listed = _list_texts(setuptools.get("packages")) | _list_texts(setuptools.get("py-modules"))
    listed |= _list_texts(wheel.get("packages")) | _list_texts([flit.get("name")])
    included = _get_table(tools, "poetry").get("packages")
    for one in included if isinstance(included, list) else ():
        if isinstance(one, Mapping):
            listed |= _list_texts([one.get("include")])
    return listed


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

"""Names of the product that a change takes away, so that the tests of them have nothing left to test.

A name counts as gone if a changed file defined it, no changed file defines it any more, and nothing with the same
content stands under another name: what was only emptied is still there, what was only renamed is not gone. Nothing of a
file is gone that imports from elsewhere what it defined before, as an imported class may have the same methods.
"""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from orchestrator.judge.evolution.test_functions import EvolvingTest
from orchestrator.judge.files.changed_file import ChangedFile, is_test_path
from orchestrator.judge.source.python_syntax import find_nodes, parse_python

_ROOTS = ("src.", "lib.")


@dataclass(frozen=True)
class RemovedCode:
    """The names and parameters that are gone, by the modules that had them; and the modules that are gone."""

    names_by_module: Mapping[str, frozenset[str]]
    parameters_by_module: Mapping[str, frozenset[str]]
    modules: frozenset[str]

    def find_removed_name(self, test: EvolvingTest) -> str:
        """Return a name that a test uses and that is gone; empty if there is none.

        The test's module has to import the module that had it, or something of it.
        """
        for module, name in _iterate_imports(test.module):
            bound = name or module.partition(".")[0]
            if self._is_gone(module, name) and bound in test.used_names:
                return f"{module}.{name}".rstrip(".")
        for module, names in self.names_by_module.items():
            used = sorted(names & test.used_names)
            used += sorted(self.parameters_by_module.get(module, frozenset()) & test.used_keywords)
            if used and _imports_from(test.module, module):
                return f"{module}.{used[0]}"
        return ""

    def _is_gone(self, module: str, name: str) -> bool:
        full = f"{module}.{name}".rstrip(".")
        if module in self.modules or full in self.modules:
            return True
        return name in self.names_by_module.get(module, ())


def find_removed_code(files: Sequence[ChangedFile]) -> RemovedCode:
    """Return what is gone of the product in a change. Blocks."""
    product = [file for file in files if file.is_python and not is_test_path(file.path)]
    deleted = {_name_module(file.path) for file in product if file.is_deleted}
    before: dict[str, _Definitions] = {}
    after, sides = _Definitions(), []
    for file in product:
        old, new = _read_definitions(file.before or b""), _read_definitions(file.after or b"")
        before[_name_module(file.path)] = old
        after.add_all(new)
        sides.append((old, new))
    defined = frozenset(after.names)
    for old, new in sides:
        if "*" in new.imports or not old.names.keys().isdisjoint(new.imports - old.imports - defined):
            after.add_all(old)
    return _compare_definitions(before, after, deleted)


def _compare_definitions(
    before: Mapping[str, "_Definitions"], after: "_Definitions", deleted: Collection[str]
) -> RemovedCode:
    known = set[str]()
    for definitions in before.values():
        known |= definitions.names.keys()
    moved = {content for name, content in after.names.items() if content and name not in known}
    names, parameters, modules = {}, {}, set[str]()
    for module, definitions in before.items():
        gone = set[str]()
        for name, content in definitions.names.items():
            if name not in after.names and content not in moved:
                gone.add(name)
        names[module] = frozenset(gone)
        parameters[module] = frozenset(definitions.parameters - after.parameters)
        if module in deleted and gone == definitions.names.keys():
            modules.add(module)
    return RemovedCode(names, parameters, frozenset(modules))


@dataclass
class _Definitions:
    """Definitions of modules: name → content as text, empty for plain values; and the parameters of functions.

    `imports` are the names that imports give, `*` for all of another module.
    """

    names: dict[str, str] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)

    def add_all(self, other: "_Definitions") -> None:
        """Add the definitions of another module."""
        self.names |= other.names
        self.parameters |= other.parameters


def _read_definitions(content: bytes) -> _Definitions:
    """Return what a module and its classes define; of functions nothing that is inside."""
    found = _Definitions()
    if tree := parse_python(content):
        _add_definitions(tree.body, found)
        for arguments in find_nodes(tree, ast.arguments):
            for argument in (*arguments.args, *arguments.kwonlyargs):
                found.parameters.add(argument.arg)
    return found


def _add_definitions(body: Sequence[ast.stmt], found: _Definitions) -> None:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                inner = "".join(map(ast.dump, statement.body))
                found.names[name] = ast.dump(statement.args) + inner
            case ast.ClassDef(name=name, body=inner):
                found.names[name] = "".join(map(ast.dump, inner))
                _add_definitions(inner, found)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _add_value(target, value, found)
            case ast.AnnAssign(target=target, value=value):
                _add_value(target, value, found)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for alias in aliases:
                    found.imports.add(alias.asname or alias.name)
            case _:
                for block in _iterate_blocks(statement):
                    _add_definitions(block, found)


def _iterate_blocks(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """Yield the statements inside of one that runs them where it stands, as `if`, `try`, `with` and loops do."""
    for part in ("body", "orelse", "finalbody"):
        yield getattr(statement, part, ())
    for part in ("handlers", "cases"):
        for branch in getattr(statement, part, ()):
            yield branch.body


def _add_value(target: ast.expr, value: ast.expr | None, found: _Definitions) -> None:
    """Add a name that is given a value, and the words that the value lists, as names of settings do."""
    if isinstance(target, ast.Name):
        found.names[target.id] = "" if value is None or isinstance(value, ast.Constant) else ast.dump(value)
    if isinstance(value, ast.Dict | ast.Set | ast.List | ast.Tuple):
        for constant in find_nodes(value, ast.Constant):
            if isinstance(constant.value, str) and constant.value.isidentifier():
                found.names.setdefault(constant.value, "")


def _name_module(path: str) -> str:
    place = PurePosixPath(path)
    parts = place.with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    name = ".".join(parts)
    for root in _ROOTS:
        name = name.removeprefix(root)
    return name


def _iterate_imports(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each import as module and name; the name is empty where the module itself is imported."""
    for node in find_nodes(module, ast.Import):
        for alias in node.names:
            yield alias.name, ""
    for statement in find_nodes(module, ast.ImportFrom):
        for alias in statement.names:
            yield statement.module or "", alias.name


def _imports_from(tree: ast.Module, module: str) -> bool:
    """Return True if a test's module imports a module of the product, or the package that it is in."""
    packages = {module, module.rpartition(".")[0] or module}
    for name, part in _iterate_imports(tree):
        if name in packages or f"{name}.{part}" == module:
            return True
    return False

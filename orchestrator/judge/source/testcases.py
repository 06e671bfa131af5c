"""The test functions of a Python file, by name, with what decides whether they run and in how many cases."""

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from orchestrator.judge.source.python_syntax import FunctionNode, get_last_name

_Body = Sequence[ast.stmt]
_Marks = tuple[str, ...]
_SKIPS = frozenset({"skip", "skipif", "skipIf", "skipUnless", "skipTest", "xfail", "expectedFailure", "importorskip"})
_LEAVES = frozenset({"SkipTest", "Skipped"})


@dataclass(frozen=True)
class TestFunction:
    """A function of a test file. `name` has its classes before it, `marks` are what may skip it or expects it to fail.

    `cases` is how often it runs for its parameters, None where that is not written there. `is_found` tells whether a
    runner would take it for a test; `is_lost` is one whose name belongs to something else further down.
    """

    __test__ = False  # pytest would take it for a test class

    path: str
    name: str
    node: FunctionNode
    marks: tuple[str, ...]
    cases: int | None
    is_collected: bool
    is_shadowed: bool

    @property
    def location(self) -> str:
        """Its place, as `path:line`."""
        return f"{self.path}:{self.node.lineno}"

    @cached_property
    def body_dump(self) -> str:
        """What it does, whatever it is called."""
        return "".join(map(ast.dump, self.node.body))

    @property
    def last_name(self) -> str:
        """Its name without its classes."""
        return self.name.rpartition(".")[2]


def list_test_functions(path: str, tree: ast.Module) -> list[TestFunction]:
    """All functions of a module and of its classes, in order; functions within functions belong to those."""
    return list(_in(path, tree.body, "", _marks_of_scope(tree.body), is_found=True))


def _in(path: str, body: _Body, prefix: str, marks: _Marks, is_found: bool) -> Iterator[TestFunction]:
    for position, statement in enumerate(body):
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                own = (*marks, *_decorating(statement.decorator_list), *_in_its_body(statement))
                is_lost = _is_lost(statement.name, body[position + 1 :])
                is_test = is_found and statement.name.startswith("test") and not is_lost
                cases = _cases(statement.decorator_list)
                yield TestFunction(path, prefix + statement.name, statement, own, cases, is_test, is_lost)
            case ast.ClassDef():
                own = (*marks, *_decorating(statement.decorator_list), *_marks_of_scope(statement.body))
                is_class = is_found and (statement.name.startswith("Test") or bool(statement.bases))
                yield from _in(path, statement.body, f"{prefix}{statement.name}.", own, is_class)
            case ast.If() | ast.Try():
                yield from _in(path, statement.body, prefix, marks, is_found)
                yield from _in(path, statement.orelse, prefix, marks, is_found)
            case ast.With():
                yield from _in(path, statement.body, prefix, marks, is_found)


def _is_lost(name: str, following: _Body) -> bool:
    """Whether what follows takes a name away, or gives it to something that does not rest on the old one."""
    for statement in following:
        match statement:
            case ast.FunctionDef(name=other) | ast.AsyncFunctionDef(name=other) | ast.ClassDef(name=other):
                if other == name and not statement.decorator_list:
                    return True
            case ast.Delete(targets=targets) | ast.Assign(targets=targets):
                is_named = any(isinstance(target, ast.Name) and target.id == name for target in targets)
                value = statement.value if isinstance(statement, ast.Assign) else None
                if is_named and not (value and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value))):
                    return True
    return False


def _marks_of_scope(body: _Body) -> tuple[str, ...]:
    """What a module or a class says of all its tests."""
    found: list[str] = []
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                found += _decorating(value.elts if isinstance(value, ast.List | ast.Tuple) else [value])
            case ast.Assign(targets=[ast.Name(id="__test__")], value=ast.Constant(value=False)):
                found.append("__test__ = False")
            case ast.Expr(value=ast.Call() as call) if get_last_name(call) in _SKIPS:
                found.append(ast.unparse(call)[:80])
    return tuple(found)


def _decorating(decorators: Sequence[ast.expr]) -> tuple[str, ...]:
    return tuple(ast.unparse(one)[:80] for one in decorators if get_last_name(one) in _SKIPS)


def _in_its_body(function: FunctionNode) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and get_last_name(node) in _SKIPS - {"skipif", "skipIf", "skipUnless"}:
            if not any(node is one for one in function.decorator_list) and not _skips_ahead(node):
                yield ast.unparse(node)[:80]
        elif isinstance(node, ast.Raise) and node.exc is not None and get_last_name(node.exc) in _LEAVES:
            yield ast.unparse(node)[:80]


def _skips_ahead(call: ast.Call) -> bool:
    """Whether it is a method of a buffer, say: `x.skip(2)`; no skip of a test takes a number for its reason."""
    match call:
        case ast.Call(func=ast.Attribute(attr="skip"), args=[ast.Constant(value=value)], keywords=[]):
            return type(value) is int
    return False


def _cases(decorators: Sequence[ast.expr]) -> int | None:
    """How many cases its parameters make; None if that is not written out."""
    counts = []
    for call in decorators:
        if isinstance(call, ast.Call) and get_last_name(call) == "parametrize":
            values = call.args[1] if len(call.args) > 1 else None
            counts.append(len(values.elts) if isinstance(values, ast.List | ast.Tuple) else None)
    known = [count for count in counts if count is not None]
    if len(known) == len(counts):
        return math.prod(known)
    return None

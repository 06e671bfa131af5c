"""The test functions of a Python file, by name, with what decides whether they run and in how many cases."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from orchestrator.judge.source.python_syntax import FunctionNode, get_last_name, list_elements, uses_name

_Body = Sequence[ast.stmt]
_Marks = tuple[str, ...]
_SKIPS = frozenset({"skip", "skipif", "skipIf", "skipUnless", "skipTest", "xfail", "expectedFailure", "importorskip"})
_CONDITIONAL = frozenset({"skipif", "skipIf", "skipUnless"})
_LEAVES = frozenset({"SkipTest", "Skipped"})


@dataclass(frozen=True)
class TestFunction:
    """A function of a test file. `name` has its classes before it, `marks` are what may skip it or expects it to fail.

    `cases` is how often it runs for its parameters, None where that is not written there. `is_collected` tells that a
    runner would take it for a test; `is_shadowed` that its name belongs to something else further down.
    """

    __test__ = False  # pytest would take it for a test class

    path: str
    name: str
    node: FunctionNode
    marks: tuple[str, ...]
    cases: int | None
    is_collected: bool
    is_shadowed: bool

    @cached_property
    def body_dump(self) -> str:
        """A dump of its body, whatever it is called."""
        return "".join(map(ast.dump, self.node.body))

    @property
    def last_name(self) -> str:
        """Its name without its classes."""
        return self.name.rpartition(".")[2]


def list_test_functions(path: str, tree: ast.Module) -> list[TestFunction]:
    """Return all functions of a module and of its classes, in order; functions within functions belong to those."""
    return list(_read_body(path, tree.body, "", _list_scope_marks(tree.body), is_collected=True))


def _read_body(path: str, body: _Body, prefix: str, marks: _Marks, is_collected: bool) -> Iterator[TestFunction]:
    for position, statement in enumerate(body):
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                own = (*marks, *_list_decorator_marks(statement.decorator_list), *_find_body_marks(statement))
                is_shadowed = _is_shadowed(statement.name, body[position + 1 :])
                is_test = is_collected and statement.name.startswith("test") and not is_shadowed
                cases = _count_cases(statement.decorator_list)
                yield TestFunction(path, prefix + statement.name, statement, own, cases, is_test, is_shadowed)
            case ast.ClassDef():
                own = (*marks, *_list_decorator_marks(statement.decorator_list), *_list_scope_marks(statement.body))
                is_test = is_collected and (statement.name.startswith("Test") or bool(statement.bases))
                yield from _read_body(path, statement.body, f"{prefix}{statement.name}.", own, is_test)
            case ast.If() | ast.Try():
                yield from _read_body(path, statement.body, prefix, marks, is_collected)
                yield from _read_body(path, statement.orelse, prefix, marks, is_collected)
            case ast.With():
                yield from _read_body(path, statement.body, prefix, marks, is_collected)


def _is_shadowed(name: str, following: _Body) -> bool:
    """Return True if what follows takes a name away, or gives it to something that does not rest on the old one."""
    for statement in following:
        match statement:
            case ast.FunctionDef(name=other) | ast.AsyncFunctionDef(name=other) | ast.ClassDef(name=other):
                if other == name and not statement.decorator_list:
                    return True
            case ast.Delete(targets=targets) if _is_among(name, targets):
                return True
            case ast.Assign(targets=targets, value=value) if _is_among(name, targets) and not uses_name(value, name):
                return True
    return False


def _is_among(name: str, targets: Sequence[ast.expr]) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _list_scope_marks(body: _Body) -> tuple[str, ...]:
    """Return what a module or a class says of all its tests."""
    found: list[str] = []
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                found += _list_decorator_marks(list_elements(value))
            case ast.Assign(targets=[ast.Name(id="__test__")], value=ast.Constant(value=False)):
                found.append("__test__ = False")
            case ast.Expr(value=ast.Call() as call) if get_last_name(call) in _SKIPS:
                found.append(_quote_node(call))
    return tuple(found)


def _list_decorator_marks(decorators: Sequence[ast.expr]) -> tuple[str, ...]:
    return tuple(_quote_node(one) for one in decorators if get_last_name(one) in _SKIPS)


def _find_body_marks(function: FunctionNode) -> Iterator[str]:
    decorators = set(map(id, function.decorator_list))
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and get_last_name(node) in _SKIPS - _CONDITIONAL:
            if id(node) not in decorators and not _skips_ahead(node):
                yield _quote_node(node)
        elif isinstance(node, ast.Raise) and node.exc is not None and get_last_name(node.exc) in _LEAVES:
            yield _quote_node(node)


def _quote_node(node: ast.AST) -> str:
    return ast.unparse(node)[:80]


def _skips_ahead(call: ast.Call) -> bool:
    """Return True for a method of a buffer, say: `x.skip(2)`; no skip of a test takes a number for its reason."""
    match call:
        case ast.Call(func=ast.Attribute(attr="skip"), args=[ast.Constant(value=value)], keywords=[]):
            return type(value) is int
    return False


def _count_cases(decorators: Sequence[ast.expr]) -> int | None:
    """Return how many cases a function's parameters make; None if that is not written out."""
    cases = 1
    for decorator in decorators:
        match decorator:
            case ast.Call(args=[_, ast.List(elts=values) | ast.Tuple(elts=values), *_]) if _is_parametrize(decorator):
                cases *= len(values)
            case ast.Call() if _is_parametrize(decorator):
                return None
    return cases


def _is_parametrize(decorator: ast.expr) -> bool:
    return get_last_name(decorator) == "parametrize"

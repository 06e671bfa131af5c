"""Whether a Python test file only gained tests: all that the base's file says still stands in it, in the same order."""

import ast
import re
import unittest
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.judge.source.python_syntax import parse_python

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Body = Sequence[ast.stmt]
_SPECIAL = frozenset({"pytestmark", "collect_ignore", "collect_ignore_glob", "load_tests", "*"})
_SETS_UP = re.compile(
    r"pytest_.*|(?:async_?)?(?:set_?up|tear_?down)(?:_?(?:module|class|method|function|package|all|testdata|state))?",
    re.IGNORECASE,
)
_OF_TEST_CASES = frozenset(dir(unittest.IsolatedAsyncioTestCase)) - {"maxDiff", "longMessage"}
_LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.USub, ast.Load)


@dataclass(frozen=True)
class _Taken:
    """Names that mean something to the base's tests; `modules` are those that plain imports bind."""

    bound: frozenset[str]
    modules: frozenset[str] = field(default_factory=frozenset)
    in_class: bool = False


def describe_non_additive_change(before: bytes, after: bytes) -> str:
    """What keeps a change from being an addition of tests and nothing else, in a few words; empty if nothing does.

    Added are imports, functions, classes, methods of classes, and names for plain values. What runs around every test,
    such as a set-up or a fixture that is used by itself, changes the tests that were there; so does a name that they
    use: a built-in function, a fixture, a method of their class.
    """
    old, new = parse_python(before), parse_python(after)
    if old is None or new is None:
        return "it cannot be read as Python, so nobody can tell what became of its tests"
    return next(_problems(old.body, new.body, _taken_by(old)), "")


def _taken_by(module: ast.Module) -> _Taken:
    nodes = list(ast.walk(module))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    loaded = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    fixtures = {node.arg for node in nodes if isinstance(node, ast.arg)}
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names if not alias.asname}
    modules = frozenset(name.partition(".")[0] for name in plain)
    return _Taken(frozenset(loaded - stored | fixtures), modules)


def _problems(old: _Body, new: _Body, taken: _Taken) -> Iterator[str]:
    bound = {name for statement in old for name in _names(statement)}
    taken = replace(taken, bound=taken.bound | bound)
    wanted = list(old)
    for statement in new:
        if wanted and _continues(wanted[0], statement):
            yield from _inside(wanted.pop(0), statement, taken)
        elif wanted and _is_docstring(wanted[0]) and _is_docstring(statement):
            wanted.pop(0)
        elif problem := _objection(statement, taken):
            yield problem
    if wanted:
        yield f"line {wanted[0].lineno} of the base ({_first_line(wanted[0])}) is gone or altered"


def _continues(old: ast.stmt, new: ast.stmt) -> bool:
    """Whether a statement is the base's, or the base's class or import with more in it."""
    match old, new:
        case ast.ClassDef(), ast.ClassDef():
            return _head(old) == _head(new)
        case ast.ImportFrom(), ast.ImportFrom():
            known = {ast.dump(name) for name in new.names}
            is_same = (old.module, old.level) == (new.module, new.level)
            return is_same and all(ast.dump(name) in known for name in old.names)
    return ast.dump(old) == ast.dump(new)


def _inside(old: ast.stmt, new: ast.stmt, taken: _Taken) -> Iterator[str]:
    match old, new:
        case ast.ClassDef(), ast.ClassDef():
            yield from _problems(old.body, new.body, _Taken(frozenset(_of_self(old)), in_class=True))
        case ast.ImportFrom(), ast.ImportFrom():
            known = {ast.dump(name) for name in old.names}
            if more := [name for name in new.names if ast.dump(name) not in known]:
                added = ast.copy_location(ast.ImportFrom(new.module, more, new.level), new)
                yield from filter(None, [_objection(added, taken)])


def _of_self(node: ast.ClassDef) -> Iterator[str]:
    """What its methods look up on themselves."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in {"self", "cls"}:
            yield part.attr


def _head(node: ast.ClassDef) -> list[str]:
    parts = (*node.bases, *node.keywords, *node.decorator_list)
    return [node.name, *map(ast.dump, parts)]


def _objection(statement: ast.stmt, taken: _Taken) -> str:
    """Why a statement that the base does not have is more than one more test."""
    names = _names(statement)
    mine = [name for name in names if name not in taken.modules] if _is_plain_import(statement) else names
    if given := next((name for name in mine if name in taken.bound), ""):
        return f"line {statement.lineno} gives {given} another meaning"
    if special := next((name for name in names if _is_special(name, taken.in_class)), ""):
        return f"line {statement.lineno} adds {special}, which the tests of the base run under"
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() if _is_used_by_itself(statement):
            return f"line {statement.lineno} adds a fixture that every test uses"
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom() | ast.Pass():
            return ""
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) if names and _is_literal(value):
            return ""
    if _is_docstring(statement):
        return ""
    return f"line {statement.lineno} ({_first_line(statement)}) runs on import"


def _is_plain_import(statement: ast.stmt) -> bool:
    """Whether it is `import a.b`, which leaves `a` what another plain import made it."""
    return isinstance(statement, ast.Import) and not any(alias.asname for alias in statement.names)


def _names(statement: ast.stmt) -> tuple[str, ...]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return tuple((alias.asname or alias.name).partition(".")[0] for alias in aliases)
        case ast.Assign(targets=targets) if all(isinstance(target, ast.Name) for target in targets):
            return tuple(target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            return (name,)
    return ()


def _is_special(name: str, in_class: bool) -> bool:
    sets_up = name in _SPECIAL or _SETS_UP.fullmatch(name) is not None or name.startswith("__")
    return sets_up or (in_class and name in _OF_TEST_CASES)


def _is_used_by_itself(function: _Function) -> bool:
    return any(
        isinstance(part, ast.keyword) and part.arg == "autouse"
        for decorator in function.decorator_list
        for part in ast.walk(decorator)
    )


def _is_literal(value: ast.expr) -> bool:
    return all(isinstance(part, _LITERALS) for part in ast.walk(value))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _first_line(statement: ast.stmt) -> str:
    return ast.unparse(statement).splitlines()[0][:80]

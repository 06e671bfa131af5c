"""Test files that only gained tests: all that the base's file says still stands in it, in the same order."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.source.python_syntax import FunctionNode, find_nodes, get_last_name, parse_python

_Body = Sequence[ast.stmt]
_SPECIAL = frozenset({"pytestmark", "collect_ignore", "collect_ignore_glob", "load_tests", "*"})
_SETS_UP = compile_lazily(
    r"pytest_.*|(?:async_?)?(?:set_?up|tear_?down)(?:_?(?:module|class|method|function|package|all|testdata|state))?",
    re.IGNORECASE,
)
_IMPORTS = (ast.Import, ast.ImportFrom)
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign)
_PATH_CALLS = frozenset({"Path", "PurePath", "PurePosixPath", "join", "dirname", "abspath", "resolve", "joinpath"})
_PATH_PARTS = (ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.BinOp, ast.Div, ast.Subscript, ast.Load)
_LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.USub, ast.Load)


@dataclass(frozen=True)
class _UsedNames:
    """Names that mean something to the base's tests; `modules` are those that plain imports bind."""

    bound: frozenset[str]
    modules: frozenset[str] = field(default_factory=frozenset)
    is_in_class: bool = False


def describe_non_additive_change(before: bytes, after: bytes) -> str:
    """Return in a few words the first thing by which a change is more than an addition of tests; empty if it is not.

    Added are imports, functions, classes, methods of classes, and names for plain values. What runs around every test,
    such as a set-up or a fixture that is used by itself, changes the tests that were there; so does a name that they
    use: a built-in function, a fixture, a method of their class.
    """
    old, new = parse_python(before), parse_python(after)
    if old is None or new is None:
        return "it cannot be read as Python, so nobody can tell what became of its tests"
    return next(_find_problems(old.body, new.body, _list_used_names(old)), "")


def describe_surrounding_change(before: bytes, after: bytes) -> str:
    """Return in a few words the first thing that now runs around the tests of a file, or takes a name that they use.

    What became of its functions is another question. Imports and plain values may be exchanged.
    """
    old, new = parse_python(before), parse_python(after)
    if old is None or new is None:
        return "it cannot be read as Python, so nobody can tell what became of its tests"
    return next(_find_surrounding_changes(old.body, new.body, _list_used_names(old)), "")


def _find_surrounding_changes(old: _Body, new: _Body, used: _UsedNames) -> Iterator[str]:
    known = set(map(ast.dump, old))
    names = _map_definitions(old)
    taken = replace(used, bound=used.bound.union(names) - _list_exchanged_names(old, new))
    defined = Counter(chain.from_iterable(map(_list_names, new)))
    for statement in new:
        if ast.dump(statement) in known:
            continue
        before = next((names[name] for name in _list_names(statement) if name in names), None)
        match before, statement:
            case ast.ClassDef(), ast.ClassDef() if defined[statement.name] == 1:
                yield from _compare_classes(before, statement)
            case ((ast.FunctionDef() | ast.AsyncFunctionDef()), (ast.FunctionDef() | ast.AsyncFunctionDef())) if (
                defined[statement.name] == 1
            ):
                if _is_special(statement.name, taken.is_in_class) or _is_automatic_fixture(statement):
                    yield f"line {statement.lineno} changes {statement.name}, which the tests of the base run under"
            case _:
                if problem := _describe_objection(statement, taken):
                    yield problem


def _map_definitions(body: _Body) -> dict[str, ast.stmt]:
    """Return name → the last statement that gives it a meaning."""
    found: dict[str, ast.stmt] = {}
    for statement in body:
        found.update(dict.fromkeys(_list_names(statement), statement))
    return found


def _list_exchanged_names(old: _Body, new: _Body) -> frozenset[str]:
    """Return the names that one import of the base gave and another import gives now; of values the same."""
    exchanged = set[str]()
    total = Counter(chain.from_iterable(map(_list_names, new)))
    for givers in (_IMPORTS, _ASSIGNMENTS):
        before = Counter(chain.from_iterable(_list_names(one) for one in old if isinstance(one, givers)))
        for statement in new:
            if isinstance(statement, givers):
                exchanged.update(name for name in _list_names(statement) if before[name] == total[name] == 1)
    return frozenset(exchanged)


def _compare_classes(old: ast.ClassDef, new: ast.ClassDef) -> Iterator[str]:
    bases, decorators = set(map(ast.dump, old.bases)), list(map(ast.dump, old.decorator_list))
    if list(map(ast.dump, new.decorator_list)) != decorators or not bases.issuperset(map(ast.dump, new.bases)):
        yield f"line {new.lineno} makes the class {new.name} another one"
    own = _UsedNames(frozenset(_find_own_attributes(old)), is_in_class=True)
    yield from _find_surrounding_changes(old.body, new.body, own)


def _list_used_names(module: ast.Module) -> _UsedNames:
    by_context: dict[type[ast.expr_context], set[str]] = {ast.Store: set(), ast.Load: set(), ast.Del: set()}
    for name in find_nodes(module, ast.Name):
        by_context[type(name.ctx)].add(name.id)
    stored, loaded, modules = by_context[ast.Store], by_context[ast.Load], set[str]()
    for statement in find_nodes(module, ast.Import):
        modules.update(alias.name.partition(".")[0] for alias in statement.names if not alias.asname)
    fixtures = {argument.arg for argument in find_nodes(module, ast.arg)}
    return _UsedNames(frozenset(loaded - stored | fixtures), frozenset(modules))


def _find_problems(old: _Body, new: _Body, used: _UsedNames) -> Iterator[str]:
    used = replace(used, bound=used.bound.union(*map(_list_names, old)))
    wanted = list(old)
    for statement in new:
        if wanted and _continues(wanted[0], statement):
            yield from _compare_statements(wanted.pop(0), statement, used)
        elif wanted and _is_docstring(wanted[0]) and _is_docstring(statement):
            wanted.pop(0)
        elif problem := _describe_objection(statement, used):
            yield problem
    if wanted:
        yield f"line {wanted[0].lineno} of the base ({_quote_first_line(wanted[0])}) is gone or altered"


def _continues(old: ast.stmt, new: ast.stmt) -> bool:
    """Return True if a statement is the base's, or the base's class or import with more in it."""
    match old, new:
        case ast.ClassDef(), ast.ClassDef():
            return _dump_head(old) == _dump_head(new)
        case ast.ImportFrom(), ast.ImportFrom() if (old.module, old.level) == (new.module, new.level):
            return set(map(ast.dump, old.names)) <= set(map(ast.dump, new.names))
    return ast.dump(old) == ast.dump(new)


def _compare_statements(old: ast.stmt, new: ast.stmt, used: _UsedNames) -> Iterator[str]:
    match old, new:
        case ast.ClassDef(), ast.ClassDef():
            own = _UsedNames(frozenset(_find_own_attributes(old)), is_in_class=True)
            yield from _find_problems(old.body, new.body, own)
        case ast.ImportFrom(), ast.ImportFrom():
            known = set(map(ast.dump, old.names))
            more = [name for name in new.names if ast.dump(name) not in known]
            added = ast.copy_location(ast.ImportFrom(new.module, more, new.level), new)
            if more and (problem := _describe_objection(added, used)):
                yield problem


def _find_own_attributes(node: ast.ClassDef) -> Iterator[str]:
    """Yield what methods of a class look up on themselves."""
    for part in find_nodes(node, ast.Attribute):
        if isinstance(part.value, ast.Name) and part.value.id in {"self", "cls"}:
            yield part.attr


def _dump_head(node: ast.ClassDef) -> list[str]:
    parts = (*node.bases, *node.keywords, *node.decorator_list)
    return [node.name, *map(ast.dump, parts)]


def _describe_objection(statement: ast.stmt, used: _UsedNames) -> str:
    """Return in words by what a statement that the base does not have is more than one more test; else nothing."""
    names = _list_names(statement)
    bound = used.bound - used.modules if _is_plain_import(statement) else used.bound
    if taken := next(filter(bound.__contains__, names), None):
        return f"line {statement.lineno} gives {taken} another meaning"
    for name in names:
        if _is_special(name, used.is_in_class):
            return f"line {statement.lineno} adds {name}, which the tests of the base run under"
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() if _is_automatic_fixture(statement):
            return f"line {statement.lineno} adds a fixture that every test uses"
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom() | ast.Pass():
            return ""
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) if names and _is_quiet(value):
            return ""
    if _is_docstring(statement):
        return ""
    return f"line {statement.lineno} ({_quote_first_line(statement)}) runs on import"


def _is_plain_import(statement: ast.stmt) -> bool:
    """Return True for `import a.b`, which leaves `a` what another plain import made it."""
    return isinstance(statement, ast.Import) and not any(alias.asname for alias in statement.names)


def _list_names(statement: ast.stmt) -> list[str]:
    """Return the names that a statement binds; none if it binds anything but names."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [(alias.asname or alias.name).partition(".")[0] for alias in aliases]
        case ast.Assign(targets=targets):
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            return names if len(names) == len(targets) else []
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _is_special(name: str, is_in_class: bool) -> bool:
    if name in _SPECIAL or name.startswith("__") or _SETS_UP.fullmatch(name):
        return True
    return is_in_class and name in _list_test_case_names()


@cache
def _list_test_case_names() -> frozenset[str]:
    """Return the names that a test case of `unittest` has, but for those that only say how it reports."""
    import unittest  # it takes its time to load

    return frozenset(dir(unittest.IsolatedAsyncioTestCase)) - {"maxDiff", "longMessage"}


def _is_automatic_fixture(function: FunctionNode) -> bool:
    keywords = chain.from_iterable(find_nodes(decorator, ast.keyword) for decorator in function.decorator_list)
    return any(keyword.arg == "autouse" for keyword in keywords)


def _is_literal(value: ast.expr) -> bool:
    return all(isinstance(part, _LITERALS) for part in ast.walk(value))


def _is_quiet(value: ast.expr) -> bool:
    """Return True for a plain value, or a path that is put together."""
    if _is_literal(value):
        return True
    calls = set(map(get_last_name, find_nodes(value, ast.Call)))
    is_path = bool(calls) and calls <= _PATH_CALLS
    return is_path and all(isinstance(part, _PATH_PARTS) for part in ast.walk(value))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _quote_first_line(statement: ast.stmt) -> str:
    return ast.unparse(statement).splitlines()[0][:80]

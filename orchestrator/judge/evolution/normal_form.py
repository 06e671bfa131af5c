"""Test functions in one form, whatever they are called and whichever framework's words they use.

`self.assertEqual(a, b)` and `assert a == b` are the same, `self.cart` and `cart`, a docstring and none, a value that is
given a name first and one that stands where it is used. In the loose form, paths and the places of imports do not
count either: a test of which only those changed asks for the same.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.source.assertions import list_assertions
from orchestrator.judge.source.python_syntax import FunctionNode, find_nodes, get_last_name
from orchestrator.judge.source.swallowed_failures import suppresses_failures, swallows_assertions

_COMPARISONS: Mapping[str, type[ast.cmpop]] = {
    **dict.fromkeys(("assertEqual", "assertEquals", "assertListEqual", "assertTupleEqual"), ast.Eq),
    **dict.fromkeys(("assertDictEqual", "assertSetEqual", "assertSequenceEqual", "assertMultiLineEqual"), ast.Eq),
    "assertNotEqual": ast.NotEq,
    "assertIs": ast.Is,
    "assertIsNot": ast.IsNot,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
}
_NONE_TESTS: Mapping[str, type[ast.cmpop]] = {"assertIsNone": ast.Is, "assertIsNotNone": ast.IsNot}
_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns", "assertWarnsRegex"})
_OWNERS = frozenset({"self", "cls"})
_PLACE = compile_lazily(r"[\w.~-]*(?:/[\w.*~-]*)+|[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)+")
"""A path, the name of a file, or a dotted name of code."""
_LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.USub, ast.Load)
_ENDS = ast.Return | ast.Raise | ast.Continue | ast.Break


def normalize_body(function: FunctionNode, values: Mapping[str, ast.expr]) -> list[ast.stmt]:
    """Return the body in its normal form, with `values` in place of the parameters of these names."""
    body = copy.deepcopy(function.body)
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        del body[0]
    module = ast.Module(body, [])
    plain = dict(values)
    stored = Counter(node.id for node in find_nodes(module, ast.Name) if not isinstance(node.ctx, ast.Load))
    kept = []
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored[name] == 1 and is_literal(value):
                plain[name] = value
            case _:
                kept.append(statement)
    normal = []
    for statement in kept:
        changed = _Normalizer(plain).visit(statement)
        normal += changed if isinstance(changed, list) else [changed]
    return _fill_in_places(normal)


def is_literal(value: ast.expr) -> bool:
    """Return True if a value is written out."""
    return all(isinstance(part, _LITERALS) for part in ast.walk(value))


class _Normalizer(ast.NodeTransformer):
    """Says unittest's assertions by `assert`, and what belongs to `self` by its name alone."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self._values:
            return copy.deepcopy(self._values[node.id])
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in _OWNERS:
            return self.visit_Name(ast.Name(node.attr, node.ctx))
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        return ast.Assert(self.visit(node.test), None)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Call):
            call = node.value
            if condition := _find_condition(call):
                return ast.Assert(self.visit(condition), None)
            if get_last_name(call) in _RAISING and len(call.args) > 1:
                return self._build_raising(call)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if get_last_name(node) in _RAISING:
            node = ast.Call(ast.Name(_name_raising(node), ast.Load()), node.args, node.keywords)
        return self.generic_visit(node)

    def _build_raising(self, call: ast.Call) -> ast.AST:
        """Return `assertRaises(E, f, x)` as a block."""
        called = ast.Expr(ast.Call(call.args[1], call.args[2:], call.keywords))
        context = ast.withitem(ast.Call(ast.Name(_name_raising(call), ast.Load()), call.args[:1], []))
        return self.generic_visit(ast.With([context], [called]))


def _name_raising(call: ast.Call) -> str:
    return "warns" if "arn" in get_last_name(call) else "raises"


def _find_condition(call: ast.Call) -> ast.expr | None:
    """Return the condition that one of unittest's assertions asks for; None if it is none of the plain ones."""
    name = get_last_name(call)
    if name in _COMPARISONS and len(call.args) > 1:
        return ast.Compare(call.args[0], [_COMPARISONS[name]()], [call.args[1]])
    if name in _NONE_TESTS and call.args:
        return ast.Compare(call.args[0], [_NONE_TESTS[name]()], [ast.Constant(None)])
    if name == "assertTrue" and call.args:
        return call.args[0]
    if name == "assertFalse" and call.args:
        return ast.UnaryOp(ast.Not(), call.args[0])
    if name == "assertIsInstance" and len(call.args) > 1:
        return ast.Call(ast.Name("isinstance", ast.Load()), call.args[:2], [])
    return None


def loosen_body(body: Sequence[ast.stmt], module: ast.Module) -> list[ast.stmt]:
    """Return a body of this module, which may be changed, without where things lie: paths, modules of imports."""
    loose = _LooseNames(module)
    loosened = []
    for statement in body:
        loosened.append(loose.visit(statement))
    return _fill_in_places(loosened)


def _fill_in_places(body: list[ast.stmt]) -> list[ast.stmt]:
    for statement in body:
        ast.fix_missing_locations(statement)
    return body


class _LooseNames(ast.NodeTransformer):
    def __init__(self, module: ast.Module) -> None:
        self._modules: set[str] = set()
        self._names: dict[str, str] = {}
        for statement in module.body:
            if isinstance(statement, ast.Import):
                self._modules.update((alias.asname or alias.name).partition(".")[0] for alias in statement.names)
            elif isinstance(statement, ast.ImportFrom):
                self._names.update({alias.asname or alias.name: alias.name for alias in statement.names})

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str) and _PLACE.fullmatch(node.value):
            return ast.Constant("a place")
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        owner: ast.expr = node.value
        while isinstance(owner, ast.Attribute):
            owner = owner.value
        if isinstance(owner, ast.Name) and owner.id in self._modules:
            return ast.Name(node.attr, node.ctx)
        return self.generic_visit(node)


def dump_statements(body: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Return each statement as text, without its place."""
    return tuple(map(ast.dump, body))


def collect_assertions(body: Sequence[ast.stmt]) -> Counter[str]:
    """Return the assertions of a normal body that can be reached, each as text with the conditions it is under."""
    return Counter(_iterate_assertions(body, ""))


def _iterate_assertions(body: Sequence[ast.stmt], guard: str) -> Iterator[str]:
    for statement in body:
        yield from _read_statement(statement, guard)
        if isinstance(statement, _ENDS):
            return


def _read_statement(statement: ast.stmt, guard: str) -> Iterator[str]:
    match statement:
        case ast.Assert(test=test):
            for part in _split_condition(test):
                yield f"{guard}{ast.dump(part)}"
        case ast.With() | ast.AsyncWith():
            yield from _read_block(statement, guard)
        case ast.Try() if swallows_assertions(statement):
            return
        case ast.Try(body=body, orelse=after, finalbody=last):
            for block in (body, after, last):
                yield from _iterate_assertions(block, guard)
        case ast.If() | ast.For() | ast.AsyncFor() | ast.While() | ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _read_guarded(statement, guard)
        case _ if list_assertions([statement]):
            yield guard + ast.dump(statement)


def _read_block(statement: ast.With | ast.AsyncWith, guard: str) -> Iterator[str]:
    if any(map(suppresses_failures, statement.items)):
        return
    if any(get_last_name(item.context_expr) in _RAISING for item in statement.items):
        yield guard + ast.dump(statement)
    else:
        yield from _iterate_assertions(statement.body, guard)


def _read_guarded(statement: ast.stmt, guard: str) -> Iterator[str]:
    match statement:
        case ast.If(test=test, body=body, orelse=other):
            yield from _iterate_assertions(body, f"{guard}if {ast.dump(test)}: ")
            yield from _iterate_assertions(other, f"{guard}unless {ast.dump(test)}: ")
        case ast.For(iter=over, body=body) | ast.AsyncFor(iter=over, body=body):
            yield from _iterate_assertions(body, f"{guard}for {ast.dump(over)}: ")
        case ast.While(test=test, body=body):
            yield from _iterate_assertions(body, f"{guard}while {ast.dump(test)}: ")
        case ast.FunctionDef(name=name, body=body) | ast.AsyncFunctionDef(name=name, body=body):
            yield from _iterate_assertions(body, f"{guard}def {name}: ")


def _split_condition(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _split_condition(value)
        return
    yield test

"""Assertions of tests and their strictness, read from syntax, in pytest's words and unittest's alike."""

import ast
import copy
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.source.assertion_model import Assertion, AssertionStrength
from orchestrator.judge.source.python_syntax import FunctionNode, find_nodes, get_last_name, list_elements

_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns", "assertWarnsRegex"})
_BROAD = frozenset({"Exception", "BaseException", "Warning"})
_REDUCING = frozenset(
    {"len", "type", "set", "frozenset", "sorted", "Counter", "bool", "hash", "any", "all", "isinstance", "hasattr"}
)
_EXACT = frozenset(
    {"assertEqual", "assertEquals", "assertIs", "assertListEqual", "assertTupleEqual", "assertDictEqual"}
    | {"assertSetEqual", "assertSequenceEqual", "assertMultiLineEqual"}
)
_PARTLY = frozenset(
    {"assertIn", "assertNotIn", "assertNotEqual", "assertIsNot", "assertGreater", "assertGreaterEqual", "assertLess"}
    | {"assertLessEqual", "assertRegex", "assertNotRegex", "assertIsInstance", "assertCountEqual"}
)
_TRUTHS = frozenset({"assertTrue", "assertFalse", "assertIsNotNone"})
_ASKING = frozenset({"isinstance", "hasattr", "all", "any", "startswith", "endswith"})
_FINDING = frozenset({"search", "match", "fullmatch"})
_EMPTY = compile_lazily(r"[\\^$.*?|()+]*")
_CLOSE = frozenset({"assertAlmostEqual", "approx", "isclose", "allclose", "assert_allclose", "assert_almost_equal"})
_STRENGTHS = {
    **dict.fromkeys(_PARTLY, AssertionStrength.PART),
    **dict.fromkeys(_TRUTHS, AssertionStrength.TRUTH),
    **dict.fromkeys(_CLOSE - {"approx", "isclose", "allclose"}, AssertionStrength.CLOSE),
}
"""What the assertions ask for that are calls by themselves, but for those of equality."""
_TOLERANCES = frozenset({"rel", "abs", "rel_tol", "abs_tol", "rtol", "atol", "delta"})
_CHECKS = compile_lazily(
    r"_*(?:assert|check|expect|verif|ensure|should|must|fail|deprecated_call|compare)", re.IGNORECASE
)
_USUAL_TOLERANCE = 1e-5
_LONGEST_VALUE = 400


def list_assertions(body: Sequence[ast.stmt]) -> list[Assertion]:
    """Return the assertions of a body that can be reached, in their order."""
    return sorted(_read_body(body), key=lambda one: one.line)


def list_function_assertions(function: FunctionNode) -> list[Assertion]:
    """Return those of a function, with names taken for what they stand for, and in the words that are written."""
    plain, found = list_assertions(function.body), list_assertions(_resolve_names(function).body)
    if len(plain) != len(found):
        return found
    return [replace(one, words=written.words) for one, written in zip(found, plain, strict=True)]


def _resolve_names(function: FunctionNode) -> FunctionNode:
    """Return the function with values in place of names, as far as each name was given its value once, and plainly."""
    copied = copy.deepcopy(function)
    stored = Counter(node.id for node in find_nodes(copied, ast.Name) if _is_store(node))
    values: dict[str, ast.expr] = {}
    for statement in copied.body:
        _Resolver(values).visit(statement)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if stored[name] == 1 and len(ast.dump(value)) <= _LONGEST_VALUE:
                    values[name] = value
    return copied


def _is_store(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


class _Resolver(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return node if _is_store(node) else self._values.get(node.id, node)


def _read_body(body: Sequence[ast.stmt]) -> Iterator[Assertion]:
    for statement in body:
        yield from _read_node(statement)
        if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return


def _read_node(node: ast.AST) -> Iterator[Assertion]:
    """Yield the assertions in a node: in a statement's own expressions, and in the bodies below it."""
    if isinstance(node, ast.Assert):
        yield from _read_condition(node.test, node.lineno)
        return
    if isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Constant) and not node.test.value:
        yield from _read_body(node.orelse)
        return
    if isinstance(node, ast.Call) and (found := _read_call(node)):
        yield from found
        return
    for _, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield from _read_node(value)
        elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield from _read_body(value)
        elif isinstance(value, list):
            for part in value:
                if isinstance(part, ast.AST):
                    yield from _read_node(part)


def _read_call(node: ast.Call) -> list[Assertion]:
    """Return what a call asserts, if it asserts something."""
    name = get_last_name(node)
    if name in _RAISING:
        return [_read_raising(node)]
    if name == "assertTrue" and node.args:
        return list(_read_condition(node.args[0], node.lineno))
    if name == "assertFalse" and node.args:
        return [_read_expression(ast.UnaryOp(ast.Not(), node.args[0]), node.lineno)]
    if name == "assertIsNone" and node.args:
        return [_build_assertion(node, node.args[:1], AssertionStrength.EXACT)]
    if name in _EXACT or name in _STRENGTHS:
        strength = _STRENGTHS.get(name) or _get_equality_strength(node.args[:2])
        return [_build_assertion(node, node.args[:2], strength)]
    if name.startswith("assert_") and isinstance(node.func, ast.Attribute):
        strength = AssertionStrength.PART
        if node.args or node.keywords or "not_" in name:
            strength = AssertionStrength.EXACT
        return [_build_assertion(node, [node.func.value], strength)]
    if _CHECKS.match(name):
        subjects = _list_subjects((node,))
        return [Assertion(node.lineno, _quote_assertion(node), subjects, AssertionStrength.EXACT, is_delegated=True)]
    return []


def _read_raising(node: ast.Call) -> Assertion:
    expected = node.args[0] if node.args else node
    names = list(map(get_last_name, list_elements(expected)))
    is_matched = get_last_name(node).endswith("Regex") or any(keyword.arg == "match" for keyword in node.keywords)
    if _BROAD.intersection(names) and not is_matched:
        strength = AssertionStrength.TRUTH
    elif len(names) > 1:
        strength = AssertionStrength.PART
    elif is_matched:
        strength = AssertionStrength.EXACT
    else:
        strength = AssertionStrength.CLOSE
    return Assertion(node.lineno, _quote_assertion(node), frozenset({"what is raised"}), strength)


def _read_condition(test: ast.expr, line: int) -> Iterator[Assertion]:
    """Yield what an expression says that has to be true; parts joined by `and` are assertions of their own."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _read_condition(value, line)
        return
    yield _read_expression(test, line)


def _read_expression(test: ast.expr, line: int) -> Assertion:
    match test:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _read_comparison(test, left, operator, right, line)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(left=left, ops=[ast.Is()], comparators=[right])):
            return _read_comparison(test, left, ast.IsNot(), right, line)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            found = _read_expression(inner, line)
            return Assertion(line, _quote_assertion(test), found.subjects, min(found.strength, AssertionStrength.PART))
        case ast.Call(func=ast.Name(id="bool"), args=[inner]):
            found = _read_expression(inner, line)
            return Assertion(line, _quote_assertion(test), found.subjects, found.strength)
        case ast.BoolOp(values=values):
            return _read_alternatives(test, values, line)
        case ast.Call():
            return _read_truth_of_call(test)
        case ast.Constant() | ast.Tuple(elts=[_, *_]) | ast.List(elts=[_, *_]):
            return Assertion(line, _quote_assertion(test), frozenset(), AssertionStrength.NOTHING)
    return _build_assertion(test, (test,), AssertionStrength.TRUTH)


def _read_truth_of_call(call: ast.Call) -> Assertion:
    name = get_last_name(call)
    if name in _CLOSE:
        return _build_assertion(call, call.args[:2], AssertionStrength.CLOSE)
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=[pattern, *texts]) if name in _FINDING:
            if _matches_everything(pattern):
                return _build_assertion(call, texts, AssertionStrength.TRUTH)
            return _build_assertion(call, texts, AssertionStrength.PART)
        case ast.Call(func=ast.Attribute(value=owner)) if name in _ASKING:
            return _build_assertion(call, [*call.args, owner], AssertionStrength.PART)
    if name in _ASKING:
        return _build_assertion(call, call.args, AssertionStrength.PART)
    return _build_assertion(call, (call,), AssertionStrength.TRUTH)


def _read_alternatives(test: ast.BoolOp, values: Sequence[ast.expr], line: int) -> Assertion:
    """Return parts joined by `or`: as weak as the weakest, and nothing if one of them is always true."""
    strength = AssertionStrength.PART
    subjects: set[str] = set()
    for value in values:
        part = _read_expression(value, line)
        subjects |= part.subjects
        strength = min(strength, part.strength)
        if isinstance(value, ast.Constant) and value.value:
            strength = AssertionStrength.NOTHING
    return Assertion(line, _quote_assertion(test), frozenset(subjects), strength)


def _read_comparison(test: ast.expr, left: ast.expr, operator: ast.cmpop, right: ast.expr, line: int) -> Assertion:
    close: ast.Call | None = None
    sides = []
    for side in (left, right):
        if close is None and isinstance(side, ast.Call) and get_last_name(side) == "approx":
            close = side
            sides.append(side.args[0] if side.args else side)
        else:
            sides.append(side)
    words, subjects = _quote_assertion(test), _list_subjects(sides)
    if ast.dump(left) == ast.dump(right):
        return Assertion(line, words, subjects, AssertionStrength.NOTHING)
    if close is not None and isinstance(operator, ast.Eq):
        return Assertion(line, words, subjects, AssertionStrength.CLOSE, _read_tolerance(close))
    if isinstance(operator, ast.Eq | ast.Is):
        return Assertion(line, words, subjects, _get_equality_strength(sides))
    if isinstance(operator, ast.IsNot) and isinstance(right, ast.Constant):  # no more than that it is something
        found = _read_expression(left, line)
        return Assertion(line, words, found.subjects, min(found.strength, AssertionStrength.PART))
    return Assertion(line, words, subjects, AssertionStrength.PART)


def _matches_everything(pattern: ast.expr) -> bool:
    """Return True if a regular expression that is written there finds something in every text."""
    return isinstance(pattern, ast.Constant) and _EMPTY.fullmatch(str(pattern.value)) is not None


def _get_equality_strength(sides: Sequence[ast.expr]) -> AssertionStrength:
    if any(isinstance(side, ast.Constant) and isinstance(side.value, bool) for side in sides):
        return AssertionStrength.TRUTH
    if len(set(map(ast.dump, sides))) < len(sides):
        return AssertionStrength.NOTHING
    if any(isinstance(side, ast.Call) and get_last_name(side) in _REDUCING for side in sides):
        return AssertionStrength.PART
    return AssertionStrength.EXACT


def _build_assertion(node: ast.expr, values: Sequence[ast.expr], strength: AssertionStrength) -> Assertion:
    tolerance = 0.0
    if strength == AssertionStrength.CLOSE and isinstance(node, ast.Call):
        tolerance = _read_tolerance(node)
    return Assertion(node.lineno, _quote_assertion(node), _list_subjects(values), strength, tolerance)


def _list_subjects(values: Sequence[ast.expr]) -> frozenset[str]:
    """Return dumps of what is spoken of; of values without a name in them only if there is nothing else."""
    named = [value for value in values if any(find_nodes(value, ast.Name))]
    return frozenset(map(ast.dump, named or values))


def _read_tolerance(call: ast.Call) -> float:
    """Return how far off a value may be, at most; what is not written as a number counts as the usual."""
    tolerances = []
    for keyword in call.keywords:
        if not isinstance(keyword.value, ast.Constant):
            continue
        number = keyword.value.value
        try:
            if keyword.arg in _TOLERANCES and isinstance(number, int | float):
                tolerances.append(float(number))
            elif keyword.arg == "places" and isinstance(number, int):
                tolerances.append(10.0**-number)
        except OverflowError:
            return math.inf
    return max(tolerances, default=_USUAL_TOLERANCE)


def _quote_assertion(node: ast.AST) -> str:
    try:
        return ast.unparse(node).split("\n")[0][:80]
    except (ValueError, RecursionError):  # what came in for a name may not fit there, as in an f-string
        return f"the assertion of line {getattr(node, 'lineno', 0)}"

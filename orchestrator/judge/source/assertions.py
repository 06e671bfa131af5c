"""What the assertions of a test say, and how strictly: read from its syntax, in pytest's words and unittest's alike."""

import ast
import copy
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from orchestrator.judge.source.python_syntax import get_last_name

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class AssertionStrength(IntEnum):
    """How much an assertion asks for, from nothing at all to one value alone."""

    NOTHING = 0
    TRUTH = 1
    PART = 2
    CLOSE = 3
    EXACT = 4


@dataclass(frozen=True)
class Assertion:
    """One assertion: the values it speaks of, as dumps of their syntax, and how strictly.

    `tolerance` is how far a value may be off, as far as that is written there; 0 where nothing may be. What
    `is_delegated` is left to a function that is named like a check, and may be more than one assertion.
    """

    line: int
    words: str
    subjects: frozenset[str]
    strength: AssertionStrength
    tolerance: float = 0.0
    is_delegated: bool = False

    def is_related_to(self, other: "Assertion") -> bool:
        """Whether both speak of a common value, or one of something that is made of the other's."""
        if self.subjects & other.subjects:
            return True
        return any(one in two or two in one for one in self.subjects for two in other.subjects)


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
_EMPTY = re.compile(r"[\\^$.*?|()+]*")
_CLOSE = frozenset({"assertAlmostEqual", "approx", "isclose", "allclose", "assert_allclose", "assert_almost_equal"})
_TOLERANCES = frozenset({"rel", "abs", "rel_tol", "abs_tol", "rtol", "atol", "delta"})
_CHECKS = re.compile(
    r"_*(?:assert|check|expect|verif|ensure|should|must|fail|deprecated_call|compare)",
    re.IGNORECASE,
)
_USUAL_TOLERANCE = 1e-5
_LONGEST_VALUE = 400


def list_assertions(body: Sequence[ast.stmt]) -> list[Assertion]:
    """The assertions of a body that can be reached, in their order."""
    return sorted(_in_body(body), key=lambda one: one.line)


def list_function_assertions(function: FunctionNode) -> list[Assertion]:
    """Those of a function, with names taken for what they stand for, and in the words in which they are written."""
    plain, found = list_assertions(function.body), list_assertions(_resolved(function).body)
    if len(plain) != len(found):
        return found
    return [replace(one, words=written.words) for one, written in zip(found, plain, strict=True)]


def _resolved(function: FunctionNode) -> FunctionNode:
    """The function with values in place of names, as far as each name was given its value once, and plainly."""
    copied = copy.deepcopy(function)
    stored = Counter(node.id for node in ast.walk(copied) if isinstance(node, ast.Name) and _is_store(node))
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
        if _is_store(node):
            return node
        return self._values.get(node.id, node)


def _in_body(body: Sequence[ast.stmt]) -> Iterator[Assertion]:
    for statement in body:
        yield from _of(statement)
        if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return


def _of(node: ast.AST) -> Iterator[Assertion]:
    """The assertions in a node: in a statement's own expressions, and in the bodies below it."""
    if isinstance(node, ast.Assert):
        yield from _said(node.test, node.lineno)
        return
    if isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Constant) and not node.test.value:
        yield from _in_body(node.orelse)
        return
    if isinstance(node, ast.Call) and (found := _called(node)):
        yield from found
        return
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield from _in_body(value)
        else:
            for part in value if isinstance(value, list) else [value]:
                yield from _of(part) if isinstance(part, ast.AST) else ()


def _called(node: ast.Call) -> list[Assertion]:
    """What a call asserts, if it asserts something."""
    name = get_last_name(node)
    if name in _RAISING:
        return [_raising(node)]
    if name == "assertTrue" and node.args:
        return list(_said(node.args[0], node.lineno))
    if name == "assertFalse" and node.args:
        return [_expression(ast.UnaryOp(ast.Not(), node.args[0]), node.lineno)]
    if name in {"assertIsNone"} and node.args:
        return [_assertion(node, node.args[:1], AssertionStrength.EXACT)]
    if name in _EXACT | _PARTLY | _TRUTHS | _CLOSE - {"approx", "isclose", "allclose"}:
        return [_assertion(node, node.args[:2], _strength_of(name, node.args[:2]))]
    if name.startswith("assert_") and isinstance(node.func, ast.Attribute):
        is_full = bool(node.args or node.keywords) or "not_" in name
        return [_assertion(node, [node.func.value], AssertionStrength.EXACT if is_full else AssertionStrength.PART)]
    about = _about((node,))
    if _CHECKS.match(name):
        return [Assertion(node.lineno, _words(node), about, AssertionStrength.EXACT, is_delegated=True)]
    return []


def _strength_of(name: str, sides: Sequence[ast.expr]) -> AssertionStrength:
    if name in _EXACT:
        return _equality(sides)
    if name in _CLOSE:
        return AssertionStrength.CLOSE
    if name in _PARTLY:
        return AssertionStrength.PART
    return AssertionStrength.TRUTH


def _raising(node: ast.Call) -> Assertion:
    expected = node.args[0] if node.args else None
    if isinstance(expected, ast.Tuple):
        names = [get_last_name(one) for one in expected.elts]
    else:
        names = [get_last_name(expected or node)]
    is_matched = get_last_name(node).endswith("Regex") or any(keyword.arg == "match" for keyword in node.keywords)
    if is_matched:
        strength = AssertionStrength.EXACT
    else:
        strength = AssertionStrength.CLOSE
    if len(names) > 1:
        strength = AssertionStrength.PART
    if _BROAD.intersection(names) and not is_matched:
        strength = AssertionStrength.TRUTH
    return Assertion(node.lineno, _words(node), frozenset({"what is raised"}), strength)


def _said(test: ast.expr, line: int) -> Iterator[Assertion]:
    """What an expression says that has to be true; parts joined by `and` are assertions of their own."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _said(value, line)
        return
    yield _expression(test, line)


def _expression(test: ast.expr, line: int) -> Assertion:
    match test:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _compared(test, left, operator, right, line)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(left=left, ops=[ast.Is()], comparators=[right])):
            return _compared(test, left, ast.IsNot(), right, line)
        case ast.UnaryOp(op=ast.Not(), operand=inner) | ast.Call(func=ast.Name(id="bool"), args=[inner]):
            found = _expression(inner, line)
            if isinstance(test, ast.UnaryOp):
                strength = min(found.strength, AssertionStrength.PART)
            else:
                strength = found.strength
            return Assertion(line, _words(test), found.subjects, strength)
        case ast.BoolOp(values=values):
            return _either(test, values, line)
        case ast.Call():
            return _asked(test)
        case ast.Constant() | ast.Tuple(elts=[_, *_]) | ast.List(elts=[_, *_]):
            return Assertion(line, _words(test), frozenset(), AssertionStrength.NOTHING)
    return _assertion(test, (test,), AssertionStrength.TRUTH)


def _asked(call: ast.Call) -> Assertion:
    """What the truth of a call says."""
    name = get_last_name(call)
    if name in _CLOSE:
        return _assertion(call, call.args[:2], AssertionStrength.CLOSE)
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=[pattern, *texts]) if name in _FINDING:
            return _assertion(call, texts, AssertionStrength.TRUTH if _fits_all(pattern) else AssertionStrength.PART)
    if name in _ASKING:
        about = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
        return _assertion(call, about, AssertionStrength.PART)
    return _assertion(call, (call,), AssertionStrength.TRUTH)


def _either(test: ast.BoolOp, values: Sequence[ast.expr], line: int) -> Assertion:
    """Parts joined by `or`: as weak as the weakest, and nothing if one of them is always true."""
    parts = [_expression(value, line) for value in values]
    about = frozenset(name for part in parts for name in part.subjects)
    is_constant = any(isinstance(value, ast.Constant) and value.value for value in values)
    weakest = min(AssertionStrength.PART, *(part.strength for part in parts))
    return Assertion(line, _words(test), about, AssertionStrength.NOTHING if is_constant else weakest)


def _compared(test: ast.expr, left: ast.expr, operator: ast.cmpop, right: ast.expr, line: int) -> Assertion:
    close = next(
        (side for side in (left, right) if isinstance(side, ast.Call) and get_last_name(side) == "approx"), None
    )
    sides = []
    for side in (left, right):
        sides.append(close.args[0] if close is not None and side is close and close.args else side)
    if ast.dump(left) == ast.dump(right):
        return Assertion(line, _words(test), _about(sides), AssertionStrength.NOTHING)
    if close is not None and isinstance(operator, ast.Eq):
        return Assertion(line, _words(test), _about(sides), AssertionStrength.CLOSE, _tolerance(close))
    if isinstance(operator, ast.Eq | ast.Is):
        return Assertion(line, _words(test), _about(sides), _equality(sides))
    if isinstance(operator, ast.IsNot) and isinstance(right, ast.Constant):  # no more than that it is something
        found = _expression(left, line)
        return Assertion(line, _words(test), found.subjects, min(found.strength, AssertionStrength.PART))
    return Assertion(line, _words(test), _about(sides), AssertionStrength.PART)


def _fits_all(pattern: ast.expr) -> bool:
    """Whether a regular expression that is written there finds something in every text."""
    return isinstance(pattern, ast.Constant) and _EMPTY.fullmatch(str(pattern.value)) is not None


def _equality(sides: Sequence[ast.expr]) -> AssertionStrength:
    if any(isinstance(side, ast.Constant) and isinstance(side.value, bool) for side in sides):
        return AssertionStrength.TRUTH
    if len({ast.dump(side) for side in sides}) < len(sides):
        return AssertionStrength.NOTHING
    is_reduced = any(isinstance(side, ast.Call) and get_last_name(side) in _REDUCING for side in sides)
    if is_reduced:
        return AssertionStrength.PART
    return AssertionStrength.EXACT


def _assertion(node: ast.expr, about: Sequence[ast.expr], strength: AssertionStrength) -> Assertion:
    if strength == AssertionStrength.CLOSE and isinstance(node, ast.Call):
        tolerance = _tolerance(node)
    else:
        tolerance = 0.0
    return Assertion(node.lineno, _words(node), _about(about), strength, tolerance)


def _about(values: Sequence[ast.expr]) -> frozenset[str]:
    """What is spoken of; of values that are written there only if there is nothing else."""
    named = []
    for value in values:
        if any(isinstance(part, ast.Name) for part in ast.walk(value)):
            named.append(value)
    return frozenset(map(ast.dump, named or values))


def _tolerance(call: ast.Call) -> float:
    """How far off a value may be, at most; what is not written as a number counts as the usual."""
    given = []
    for keyword in call.keywords:
        if keyword.arg in _TOLERANCES:
            given.append(keyword)
    places = []
    for keyword in call.keywords:
        if keyword.arg == "places":
            places.append(keyword.value)
    numbers = []
    for keyword in given:
        if isinstance(keyword.value, ast.Constant):
            numbers.append(keyword.value.value)
    digits = []
    for place in places:
        if isinstance(place, ast.Constant) and isinstance(place.value, int):
            digits.append(place.value)
    values = []
    for number in numbers:
        if isinstance(number, int | float):
            values.append(number)
    try:
        return max([*map(float, values), *(10.0**-digit for digit in digits)], default=_USUAL_TOLERANCE)
    except OverflowError:
        return math.inf


def _words(node: ast.AST) -> str:
    try:
        return ast.unparse(node).split("\n")[0][:80]
    except (ValueError, RecursionError):  # what came in for a name may not fit there, as in an f-string
        return f"the assertion of line {getattr(node, 'lineno', 0)}"

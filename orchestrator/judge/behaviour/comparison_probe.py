"""Asks objects of the workspace that a test compares if they would be equal to other values as well.

Only the text of this module is used, in the process that runs the tests. Where pytest rewrites an assertion, the two
sides of each comparison in it are shown to the probe before they are compared. It asks copies of an object whose
class has a comparison of its own in the workspace, so that the object itself stays as it was.
"""

from __future__ import annotations

import ast
import copy
import functools
import os
import sys
import unittest
from typing import Any

from orchestrator.judge.behaviour.other_values import change_value, show_value

_COMPARED_PLAINLY = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, type(None))
_SIGNS = {ast.Eq: "==", ast.In: "in", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_METHODS_OF_SIGNS = {
    "==": ("__eq__",),
    "in": ("__contains__",),
    "<": ("__lt__", "__gt__"),
    "<=": ("__le__", "__ge__"),
    ">": ("__gt__", "__lt__"),
    ">=": ("__ge__", "__le__"),
    "-": ("__sub__", "__rsub__"),
}
_SIGNS_OF_UNITTEST = {"assertEqual": "==", "assertIn": "in", "assertLess": "<", "assertGreater": ">"}
__unittest = True
"""Keeps frames of this module out of what is printed of a failed assertion."""
_MAX_PROBED = 40
"""So many comparisons of one class are probed."""
_NO_ANSWER = object()


class ComparisonProbe:
    """Probes comparisons in tests; `found` holds those that say yes to too much, by class, operator and kind."""

    def __init__(self, root: str) -> None:
        self.root = os.path.join(os.path.realpath(root), "")  # noqa: PTH118
        self.found: dict[tuple[str, str, str], list[Any]] = {}
        self._places: dict[tuple[type, str], Any] = {}
        self._counts: dict[type, int] = {}
        self._is_busy = False

    def watch_assertions(self, module_name: str) -> None:
        """Let pytest show comparisons in the assertions that it rewrites, by a function of the module of this name."""
        import _pytest.assertion.rewrite as rewriting

        rewrite: Any = rewriting.rewrite_asserts

        @functools.wraps(rewrite)
        def rewrite_and_show(mod: ast.Module, *arguments: Any, **named: Any) -> None:
            rewrite(mod, *arguments, **named)
            show_comparisons(mod, module_name)

        rewriting.rewrite_asserts = rewrite_and_show
        for name, sign in _SIGNS_OF_UNITTEST.items():
            self._watch_method(name, sign)

    def _watch_method(self, name: str, sign: str) -> None:
        """Let an assertion of unittest show what it compares."""
        method: Any = getattr(unittest.TestCase, name)

        @functools.wraps(method)
        def show_and_assert(case: Any, *arguments: Any, **named: Any) -> Any:
            if len(arguments) > 1:
                self.show_comparison(arguments[0], sign, arguments[1])
            return method(case, *arguments, **named)

        setattr(unittest.TestCase, name, show_and_assert)

    def show_comparison(self, left: Any, operator: str, right: Any) -> None:
        """Probe a comparison that is about to be made."""
        if self._is_busy or (type(left) in _COMPARED_PLAINLY and type(right) in _COMPARED_PLAINLY):
            return
        self._is_busy = True
        try:
            if operator != "in":
                self._probe_side(left, operator, right, False)
            if operator != "-":
                self._probe_side(right, operator, left, True)
        except Exception:  # noqa: BLE001 -- the test goes on as if nobody had asked
            return
        finally:
            self._is_busy = False

    def _probe_side(self, own: Any, operator: str, other: Any, is_turned: bool) -> None:
        kind = type(own)
        place = self._find_place(kind, operator)
        if place is None or self._counts.get(kind, 0) >= _MAX_PROBED:
            return
        self._counts[kind] = self._counts.get(kind, 0) + 1
        wanted = _ask_copy(own, operator, other, is_turned)
        if wanted is _NO_ANSWER or (operator != "-" and not wanted):
            return
        if operator == "==" and type(other) in _COMPARED_PLAINLY and isinstance(own, _COMPARED_PLAINLY):
            self._add_finding(kind, operator, "builtin", place, other, other)
        for label, probe in change_value(other, is_order=operator in {"<", "<=", ">", ">="}):
            answer = _ask_copy(own, operator, probe, is_turned)
            if answer is not _NO_ANSWER and (answer == wanted if operator == "-" else answer):
                self._add_finding(kind, operator, label, place, other, probe)

    def _add_finding(self, kind: type, operator: str, label: str, place: Any, other: Any, also: Any) -> None:
        name = f"{kind.__module__}.{kind.__qualname__}"
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
        told = [name, *place, test, operator, label, show_value(other), show_value(also)]
        self.found.setdefault((name, operator, label), told)

    def _find_place(self, kind: type, operator: str) -> Any:
        """Return path and first and last line of the code that compares, if it lies in the workspace; else None."""
        key = (kind, operator)
        if key not in self._places:
            self._places[key] = self._look_for_place(kind, _METHODS_OF_SIGNS[operator])
        return self._places[key]

    def _look_for_place(self, kind: type, methods: tuple[str, ...]) -> Any:
        for method in methods:
            for owner in kind.__mro__:
                if method in vars(owner):
                    found = self._locate_method(vars(owner)[method], owner)
                    if found is not None:
                        return found
                    break
        return None

    def _locate_method(self, method: Any, owner: type) -> Any:
        """Return where a method's code stands; line 0 of its class's module where it stands in no file."""
        if isinstance(method, type(object.__eq__)):
            return None
        code = _find_method_code(method)
        if code is not None and os.path.isfile(code.co_filename):  # noqa: PTH113
            lines = [line for _, _, line in code.co_lines() if line]
            return self._build_place(code.co_filename, code.co_firstlineno, max([code.co_firstlineno, *lines]))
        file = getattr(sys.modules.get(owner.__module__), "__file__", None)
        return self._build_place(file, 0, 0) if file else None

    def _build_place(self, file: str, first: int, last: int) -> Any:
        path = os.path.realpath(file)
        if not path.startswith(self.root) or "site-packages" in path:
            return None
        return [path[len(self.root) :], first, last]


def _find_method_code(method: Any) -> Any:
    """Return the code behind a method, whatever it is wrapped into; None if there is none of Python."""
    for _ in range(10):
        code = getattr(method, "__code__", None)
        if code is not None:
            return code
        inner = None
        for name in ("func", "__func__", "__wrapped__", "fget"):
            inner = inner or getattr(method, name, None)
        if inner is None:
            inner = vars(type(method)).get("__call__")
        method = inner
    return None


def _ask_copy(own: Any, operator: str, other: Any, is_turned: bool) -> Any:
    """Return what a copy of an object says to a value; `_NO_ANSWER` if it raises."""
    try:
        asked = copy.deepcopy(own)
    except Exception:  # noqa: BLE001 -- then the object itself is asked
        asked = own
    left, right = (other, asked) if is_turned else (asked, other)
    try:
        if operator == "-":
            return left - right
        return bool(_COMPARISONS[operator](left, right))
    except Exception:  # noqa: BLE001 -- it does not say yes
        return _NO_ANSWER


_COMPARISONS: dict[str, Any] = {
    "==": lambda left, right: left == right,
    "in": lambda left, right: left in right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def show_comparisons(module: ast.Module, name: str) -> None:
    """Put a call before each comparison that pytest has taken apart in a rewritten module."""
    alias = f"@{name}"
    if not _put_probes(module, alias):
        return
    statement = ast.Import([ast.alias(name, alias)])
    place = next((number for number, one in enumerate(module.body) if isinstance(one, ast.Import)), 0)
    module.body.insert(place, _put_on_line(statement, module.body[place].lineno))


def _put_on_line(node: Any, line: int) -> Any:
    """Return a node that stands, with all that is in it, on one line."""
    for one in ast.walk(node):
        if "lineno" in one._attributes:
            one.lineno = one.end_lineno = line  # type: ignore[attr-defined]
            one.col_offset = one.end_col_offset = 0  # type: ignore[attr-defined]
    return node


def _put_probes(node: ast.AST, alias: str) -> int:
    """Put calls before the statements in which pytest keeps the result of a comparison; return how many there are."""
    count = 0
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        statements = getattr(node, field, None)
        if not isinstance(statements, list):
            continue
        for statement in list(statements):
            count += _put_probes(statement, alias)
            call = _build_probe(statement, alias)
            if call is not None:
                statements.insert(statements.index(statement), call)
                count += 1
    return count


def _build_probe(statement: ast.AST, alias: str) -> ast.Expr | None:
    """Return the call that shows the two sides of a comparison to the probe; None if a statement is none."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return None
    value, sign = statement.value, ""
    if isinstance(value, ast.Compare) and len(value.ops) == 1:
        left, right, sign = value.left, value.comparators[0], _SIGNS.get(type(value.ops[0]), "")
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
        left, right, sign = value.left, value.right, "-"
    is_own = statement.targets[0].id.startswith("@py_assert")
    if not sign or not is_own or not isinstance(left, ast.Name) or not isinstance(right, ast.Name):
        return None
    sides = [ast.Name(left.id, ast.Load()), ast.Constant(sign), ast.Name(right.id, ast.Load())]
    function = ast.Attribute(ast.Name(alias, ast.Load()), "show_comparison", ast.Load())
    call: ast.Expr = _put_on_line(ast.Expr(ast.Call(function, sides, [])), statement.lineno)
    return call

"""Calls that end a process, and where they end none but one of its own: the child of a fork."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from orchestrator.judge.source.name_resolution import NameResolver
from orchestrator.judge.source.python_syntax import FunctionNode, find_module_nodes, find_nodes, list_module_nodes

_FORKS = frozenset({"os.fork", "os.forkpty", "pty.fork"})
_ENDS = frozenset({"os._exit", "os.abort", "os.kill", "os.killpg", "sys.exit", "exit", "quit", "signal.raise_signal"})


def hands_on_process_end(call: ast.Call, names: NameResolver) -> bool:
    """Return True if a call is given something that ends the process."""
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        for node in find_nodes(argument, ast.expr):
            if names.resolve_name(node) in _ENDS:
                return True
    return False


def find_child_nodes(tree: ast.Module, names: NameResolver) -> frozenset[int]:
    """Return the `id` of every node that only the child of a fork executes, in functions that fork themselves."""
    found = set[int]()
    if not any(_is_fork(call, names) for call in find_module_nodes(tree, ast.Call)):
        return frozenset()
    for function in list_module_nodes(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in _iterate_child_branches(function, names):
                found.update(map(id, ast.walk(statement)))
    return frozenset(found)


def _iterate_child_branches(function: FunctionNode, names: NameResolver) -> Iterator[ast.stmt]:
    numbers = _list_process_numbers(function, names)
    for branch in find_nodes(function, ast.If):
        match branch.test:
            case ast.Compare(left=value, ops=[ast.Eq()], comparators=[ast.Constant(value=0)]) if _is_number(
                value, numbers, names
            ):
                yield from branch.body
            case ast.UnaryOp(op=ast.Not(), operand=value) if _is_number(value, numbers, names):
                yield from branch.body
            case value if _is_number(value, numbers, names):
                yield from branch.orelse


def _list_process_numbers(function: FunctionNode, names: NameResolver) -> frozenset[str]:
    """Return the names that are given nothing but what a fork returns."""
    values: defaultdict[str, list[bool]] = defaultdict(list)
    for name in find_nodes(function, ast.Name):
        if isinstance(name.ctx, ast.Store):
            values[name.id].append(False)
    for assignment in find_nodes(function, ast.Assign):
        target = assignment.targets[0]
        if isinstance(target, ast.Tuple) and target.elts:
            target = target.elts[0]
        if isinstance(target, ast.Name) and _is_fork(assignment.value, names):
            values[target.id].remove(False)
            values[target.id].append(True)
    return frozenset(name for name, are_forks in values.items() if all(are_forks))


def _is_number(value: ast.expr, numbers: frozenset[str], names: NameResolver) -> bool:
    if isinstance(value, ast.Name):
        return value.id in numbers
    return _is_fork(value, names)


def _is_fork(value: ast.expr, names: NameResolver) -> bool:
    return isinstance(value, ast.Call) and names.resolve_name(value.func) in _FORKS

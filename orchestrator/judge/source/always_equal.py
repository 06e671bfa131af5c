"""Classes whose values equal whatever a test compares them with."""

import ast
from collections.abc import Iterator

from orchestrator.judge.source.name_resolution import NameResolver, resolve_text
from orchestrator.judge.source.python_syntax import find_module_nodes, find_nodes, list_module_nodes, uses_name

_Function = ast.FunctionDef | ast.Lambda
_Given = tuple[str, str, ast.FunctionDef | ast.expr]
"""A class, the name of its comparing method, and what that method is."""
_COMPARING = {"__eq__": True, "__ne__": False}
"""Method → the answer of one that finds everything equal."""
_OPPOSITES = {"__eq__": ".__ne__", "__ne__": ".__eq__"}
_COMMON_TYPES = frozenset({"object", "int", "float", "complex", "bool", "str", "bytes", "list", "tuple", "dict", "set"})
_UNNAMED = "a class"


def find_always_equal(tree: ast.Module, names: NameResolver) -> Iterator[tuple[str, int]]:
    """Yield each way, with its line, in which a module makes something equal to everything."""
    functions = _list_functions(tree)
    always_true = {node.name for node in find_module_nodes(tree, ast.ClassDef) if _is_always_true(node)}
    for owner, name, value in _find_comparing(tree, names):
        if (names.resolve_name(value) or "").endswith(_OPPOSITES[name]):
            yield f"{owner}.{name} is the opposite of what it is called", value.lineno
            continue
        function = functions.get(value.id) if isinstance(value, ast.Name) else value
        if isinstance(function, ast.FunctionDef | ast.Lambda):
            problem = _describe_problem(name, function, always_true)
            if problem:
                yield f"{owner}.{name} {problem}", value.lineno


def _describe_problem(name: str, function: _Function, always_true: set[str]) -> str:
    if _get_constant(function) is _COMPARING[name]:
        return "always says the same, so that every comparison passes"
    if _ignores_other(function):
        return "does not look at what it is compared with"
    if name == "__eq__" and _ignores_self(function):
        return "says the same of whatever object it is asked"
    if _returns_one_of(function, always_true):
        return "returns an object that is true whatever was compared"
    return ""


def _list_functions(tree: ast.Module) -> dict[str, _Function]:
    functions: dict[str, _Function] = {}
    for node in list_module_nodes(tree):
        match node:
            case ast.FunctionDef(name=name):
                functions[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as value):
                functions[name] = value
    return functions


def _find_comparing(tree: ast.Module, names: NameResolver) -> Iterator[_Given]:
    """Yield comparing methods as they are given: in a class, by assignment, by `setattr`, in a dictionary of a type."""
    for node in list_module_nodes(tree):
        match node:
            case ast.ClassDef():
                yield from _find_comparing_in_class(node)
            case ast.Assign(targets=[ast.Attribute(value=of, attr=name)], value=value) if name in _COMPARING:
                yield names.resolve_name(of) or _UNNAMED, name, value
            case ast.Call(func=ast.Name(id="setattr"), args=[of, part, value]):
                name = resolve_text(part) or ""
                if name in _COMPARING:
                    yield names.resolve_name(of) or _UNNAMED, name, value
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if key is not None and (name := resolve_text(key) or "") in _COMPARING:
                        yield _UNNAMED, name, value


def _find_comparing_in_class(owner: ast.ClassDef) -> Iterator[_Given]:
    for statement in owner.body:
        match statement:
            case ast.FunctionDef(name=name) if name in _COMPARING:
                yield owner.name, name, statement
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Name) and target.id in _COMPARING:
                        yield owner.name, target.id, value


def _is_always_true(node: ast.ClassDef) -> bool:
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__bool__" and _get_constant(part) is True:
            return True
    return False


def _list_results(function: _Function) -> list[ast.expr | None]:
    if isinstance(function, ast.Lambda):
        return [function.body]
    return [node.value for node in find_nodes(function, ast.Return)]


def _get_constant(function: _Function) -> object:
    """Return the one constant that every return gives; None if there is no return, or not one constant alone."""
    values = set()
    for result in _list_results(function):
        if not isinstance(result, ast.Constant):
            return None
        values.add(result.value)
    return values.pop() if len(values) == 1 else None


def _list_parameters(function: _Function) -> list[str]:
    return [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]


def _ignores_other(function: _Function) -> bool:
    """Return True if an answer depends on the other value not at all, or only on whether it is something."""
    parameters = _list_parameters(function)
    if len(parameters) < 2 or not any(map(_is_answer, _list_results(function))):
        return False  # only a function with another shape, or one that refuses to compare
    other = parameters[1]
    for part in [function.body] if isinstance(function, ast.Lambda) else function.body:
        idle = set(map(id, _find_idle_looks(part, other)))
        for name in find_nodes(part, ast.Name):
            if name.id == other and id(name) not in idle:
                return False
    return True


def _ignores_self(function: _Function) -> bool:
    """Return True if an answer depends on the other value alone, and is more than what that is or is equal to."""
    parameters = _list_parameters(function)
    if len(parameters) < 2 or uses_name(function, parameters[0]) or uses_name(function, "super"):
        return False
    other = parameters[1]
    answers = filter(None, filter(_is_answer, _list_results(function)))
    return any(uses_name(answer, other) and not _tells_apart(answer, other) for answer in answers)


def _tells_apart(value: ast.expr, other: str) -> bool:
    """Return True if some values are not such: `isinstance(other, Zero)`, `other == 0`, `type(other) is Zero`."""
    match value:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(_tells_apart(part, other) for part in values)
        case ast.BoolOp(values=values):
            return all(_tells_apart(part, other) for part in values)
        case ast.Call(func=ast.Name(id="isinstance")):
            return True
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.In()], comparators=[right]):
            return uses_name(left, other) != uses_name(right, other)
    return False


def _is_answer(value: ast.expr | None) -> bool:
    is_refusal = isinstance(value, ast.Name) and value.id == "NotImplemented"
    is_no = isinstance(value, ast.Constant) and not value.value
    return value is not None and not is_refusal and not is_no


def _find_idle_looks(body: ast.AST, other: str) -> Iterator[ast.Name]:
    """Yield looks at the other value that tell nothing of it: if it is None, a number, a text, a list."""
    for node in ast.walk(body):
        match node:
            case ast.Compare(
                left=ast.Name(id=name) as left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant()]
            ) if name == other:
                yield left
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name) as first, kind]) if name == other:
                if _is_common_type(kind):
                    yield first


def _is_common_type(kind: ast.expr) -> bool:
    """Return True for types that tests compare with; a class without fields may well equal all of its own kind."""
    if isinstance(kind, ast.Tuple):
        return any(map(_is_common_type, kind.elts))
    return isinstance(kind, ast.Name) and kind.id in _COMMON_TYPES


def _returns_one_of(function: _Function, classes: set[str]) -> bool:
    calls = [result.func for result in _list_results(function) if isinstance(result, ast.Call)]
    return any(isinstance(called, ast.Name) and called.id in classes for called in calls)

"""Classes whose values equal whatever a test compares them with."""

import ast
from collections.abc import Iterator

from orchestrator.judge.source.name_resolution import NameResolver, resolve_text

_Function = ast.FunctionDef | ast.Lambda
_COMPARING = {"__eq__": True, "__ne__": False}
"""Method → the answer of one that finds everything equal."""
_COMMON = frozenset({"object", "int", "float", "complex", "bool", "str", "bytes", "list", "tuple", "dict", "set"})
_SAYS = "always says the same, so that every comparison passes"
_Seen = tuple[str, int]


def find_always_equal(tree: ast.Module, names: NameResolver) -> Iterator[_Seen]:
    """Each way, with its line, in which a module makes something equal to everything."""
    functions = _functions(tree)
    agreeing = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and _is_true(node)}
    for owner, name, value in _given(tree, names):
        function = functions.get(value.id) if isinstance(value, ast.Name) else value
        swapped = {"__eq__": ".__ne__", "__ne__": ".__eq__"}[name]
        if (names.resolve_name(value) or "").endswith(swapped):
            yield f"{owner}.{name} is the opposite of what it is called", value.lineno
        elif not isinstance(function, ast.FunctionDef | ast.Lambda):
            continue
        elif _constant(function) is _COMPARING[name]:
            yield f"{owner}.{name} {_SAYS}", value.lineno
        elif _is_blind(function):
            yield f"{owner}.{name} does not look at what it is compared with", value.lineno
        elif name == "__eq__" and _is_selfless(function):
            yield f"{owner}.{name} says the same of whatever object it is asked", value.lineno
        elif _returns_one_of(function, agreeing):
            yield f"{owner}.{name} returns an object that is true whatever was compared", value.lineno


def _functions(tree: ast.Module) -> dict[str, _Function]:
    found: dict[str, _Function] = {}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name):
                found[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as value):
                found[name] = value
    return found


def _given(tree: ast.Module, names: NameResolver) -> Iterator[tuple[str, str, ast.FunctionDef | ast.expr]]:
    """Whose comparing method is given as what: in the class, by assignment, by `setattr`, in a dictionary of a type."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=owner, body=body):
                yield from ((owner, name, value) for name, value in _of_body(body))
            case ast.Assign(targets=[ast.Attribute(value=of, attr=name)], value=value) if name in _COMPARING:
                yield names.resolve_name(of) or "a class", name, value
            case ast.Call(func=ast.Name(id="setattr"), args=[of, part, value]) if resolve_text(part) in _COMPARING:
                yield names.resolve_name(of) or "a class", resolve_text(part) or "", value
            case ast.Dict(keys=keys, values=values):
                pairs = ((resolve_text(key) or "", value) for key, value in zip(keys, values, strict=True) if key)
                yield from (("a class", name, value) for name, value in pairs if name in _COMPARING)


def _of_body(body: list[ast.stmt]) -> Iterator[tuple[str, ast.FunctionDef | ast.expr]]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) if name in _COMPARING:
                yield name, statement
            case ast.Assign(targets=targets, value=value):
                mine = [target.id for target in targets if isinstance(target, ast.Name)]
                yield from ((name, value) for name in mine if name in _COMPARING)


def _is_true(node: ast.ClassDef) -> bool:
    return any(
        isinstance(part, ast.FunctionDef) and part.name == "__bool__" and _constant(part) is True for part in node.body
    )


def _results(function: _Function) -> list[ast.expr | None]:
    if isinstance(function, ast.Lambda):
        return [function.body]
    return [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]


def _constant(function: _Function) -> object:
    """The one constant that every return gives; None if there is no return, or not one constant alone."""
    values = {value.value if isinstance(value, ast.Constant) else None for value in _results(function)}
    if len(values) == 1:
        return values.pop()
    return None


def _is_blind(function: _Function) -> bool:
    """Whether an answer is given that does not depend on the other value, or only on whether it is something at all."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    if len(parameters) < 2 or not any(_answers(value) for value in _results(function)):
        return False  # only a function with another shape, or one that refuses to compare
    other = parameters[1].arg
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    idle = {id(part) for node in body for part in _idle_looks(node, other)}
    return not any(
        isinstance(node, ast.Name) and node.id == other and id(node) not in idle
        for part in body
        for node in ast.walk(part)
    )


def _is_selfless(function: _Function) -> bool:
    """Whether an answer depends on the other value alone, and is more than what that is or what it is equal to."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    if len(parameters) < 2 or _speaks_of(function, parameters[0].arg) or _speaks_of(function, "super"):
        return False
    other = parameters[1].arg
    answers = [value for value in _results(function) if value is not None and _answers(value)]
    return any(_speaks_of(value, other) and not _tells_apart(value, other) for value in answers)


def _speaks_of(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _tells_apart(value: ast.expr, other: str) -> bool:
    """Whether some values are not such: `isinstance(other, Zero)`, `other == 0`, `type(other) is Zero`."""
    match value:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(_tells_apart(part, other) for part in values)
        case ast.BoolOp(values=values):
            return all(_tells_apart(part, other) for part in values)
        case ast.Call(func=ast.Name(id="isinstance")):
            return True
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.In()], comparators=[right]):
            return _speaks_of(left, other) != _speaks_of(right, other)
    return False


def _answers(value: ast.expr | None) -> bool:
    is_refusal = isinstance(value, ast.Name) and value.id == "NotImplemented"
    is_no = isinstance(value, ast.Constant) and not value.value
    return value is not None and not is_refusal and not is_no


def _idle_looks(body: ast.AST, other: str) -> Iterator[ast.AST]:
    """Looks at the other value that tell nothing of it: whether it is None, whether it is a number, a text, a list."""
    for node in ast.walk(body):
        match node:
            case ast.Compare(
                left=ast.Name(id=name) as left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant()]
            ):
                yield from [left] if name == other else []
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name) as first, kind]):
                yield from [first] if name == other and _is_common(kind) else []


def _is_common(kind: ast.expr) -> bool:
    """Whether it names types that tests compare with; a class without fields may well equal all of its own kind."""
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(one, ast.Name) and one.id in _COMMON for one in kinds)


def _returns_one_of(function: _Function, classes: set[str]) -> bool:
    results = _results(function)
    return any(
        isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in classes for one in results
    )

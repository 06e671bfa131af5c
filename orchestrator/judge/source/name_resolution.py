"""The meaning of expressions of a module, however they are spelt: imported as, by `getattr`, in pieces of text."""

import ast

from orchestrator.judge.source.python_syntax import list_module_nodes

_IMPORTING = frozenset({"importlib.import_module", "__import__", "builtins.__import__"})
_FIELDS = ".__dict__"
_DEPTH = 40
"""How deep an expression is looked into: nobody writes names and texts of more parts, and Python's stack is finite."""


class NameResolver:
    """Tells for what the names of a module stand, whatever they were imported or assigned as."""

    def __init__(self, tree: ast.Module) -> None:
        self._known: dict[str, str] = {}
        for node in list_module_nodes(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname:
                        self._known[alias.asname] = alias.name
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                for alias in node.names:
                    self._known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for statement in tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                    other := self.resolve_name(value)
                ) is not None:
                    self._known[name] = other

    def resolve_name(self, node: ast.AST, depth: int = _DEPTH) -> str | None:
        """Return `a.b.c` for what is reached by names, `getattr`, `vars` or an import by a text; else None."""
        match node:
            case _ if depth == 0:
                return None
            case ast.Name(id=name):
                return self._known.get(name, name)
            case ast.Attribute(value=value, attr=name):
                return self._resolve_attribute(value, name, depth)
            case ast.Subscript(value=value, slice=part) if (text := resolve_text(part)) is not None:
                return self._resolve_item(value, text, depth)
            case ast.Call(func=function, args=[first, *rest]):
                return self._resolve_call(self.resolve_name(function, depth - 1), first, rest, depth)
        return None

    def _resolve_attribute(self, value: ast.AST, name: str, depth: int) -> str | None:
        base = self.resolve_name(value, depth - 1)
        return None if base is None else f"{base}.{name}"

    def _resolve_item(self, value: ast.AST, name: str, depth: int) -> str | None:
        base = self.resolve_name(value, depth - 1)
        if base == "sys.modules":
            return name
        if base == "__builtins__":
            return f"builtins.{name}"
        if base and base.endswith(_FIELDS):
            return f"{base.removesuffix(_FIELDS)}.{name}"
        return None

    def _resolve_call(self, function: str | None, first: ast.expr, rest: list[ast.expr], depth: int) -> str | None:
        if function in _IMPORTING:
            return resolve_text(first)
        if function == "vars":
            return self._resolve_attribute(first, "__dict__", depth)
        if function == "getattr" and rest and (name := resolve_text(rest[0])) is not None:
            return self._resolve_attribute(first, name, depth)
        return None


def resolve_text(node: ast.AST, depth: int = _DEPTH) -> str | None:
    """Return the text that constants make, whole, in pieces, joined or backwards; None for other expressions."""
    match node:
        case _ if depth == 0:
            return None
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _join_texts("", [left, right], depth)
        case ast.JoinedStr(values=values):
            return _join_texts("", list(map(_unwrap_value, values)), depth)
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(between)), attr="join"),
            args=[ast.List(elts=parts) | ast.Tuple(elts=parts)],
        ):
            return _join_texts(between, parts, depth)
        case ast.Subscript(
            value=value, slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp(ast.USub(), ast.Constant(value=1)))
        ):
            forwards = resolve_text(value, depth - 1)
            return None if forwards is None else forwards[::-1]
    return None


def _join_texts(between: str, parts: list[ast.expr], depth: int) -> str | None:
    texts = [text for part in parts if (text := resolve_text(part, depth - 1)) is not None]
    return between.join(texts) if len(texts) == len(parts) else None


def _unwrap_value(value: ast.expr) -> ast.expr:
    return value.value if isinstance(value, ast.FormattedValue) else value

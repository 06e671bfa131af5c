"""The symbols of one source: what it defines, by tree-sitter, and which words it uses.

What is looked at is bounded by counts and sizes, never by time, so that a source has the same symbols everywhere. The
grammars are imported at first use, and only by the process that parses: see `symbol_worker`.
"""

import importlib
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from orchestrator.codemap.languages import FUNCTION_VALUES, GRAMMARS, HOLDING_NODES, KIND_BY_NODE, PASSED_NODES

_WORD = re.compile(rb"[A-Za-z_$][A-Za-z0-9_$]{2,63}")
_MAX_DEPTH = 6
_MAX_NODES = 20_000
_MAX_SYMBOLS = 400
_MAX_WORDS = 1_200
_MAX_SIGNATURE_BYTES = 600
_SIGNATURE_CHARS = 100
_NAME_CHARS = 80
_MAX_STEPS = 5_000
"""So many times tree-sitter may ask whether to go on, each time after a hundred operations; 256 KB of plain code take
less than half of that."""
_CHUNK_BYTES = 64 * 1024
_MAX_DECLARATORS = 8


class Symbol(NamedTuple):
    """One definition: its kind and name, the line that it begins in, from 1, and how many others it lies in.

    `signature` is its head in one line: all before its body.
    """

    kind: str
    name: str
    line: int
    depth: int
    signature: str


class SourceSymbols(NamedTuple):
    """All definitions of a source in order, and the names that it uses, sorted."""

    symbols: tuple[Symbol, ...] = ()
    words: tuple[str, ...] = ()


def extract_symbols(language: str, content: bytes) -> SourceSymbols:
    """Return the symbols of a source in a language of `GRAMMARS`; whatever the bytes are, this raises nothing."""
    tree = _parse_source(language, content)
    symbols: tuple[Symbol, ...] = ()
    if tree is not None:
        symbols = tuple(_iterate_symbols(tree.root_node, content))
    words = sorted(set(_WORD.findall(content)))[:_MAX_WORDS]
    return SourceSymbols(symbols, tuple(map(_decode_ascii, words)))


def _decode_ascii(word: bytes) -> str:
    return word.decode("ascii")


def _parse_source(language: str, content: bytes) -> Any:  # noqa: ANN401 - a tree of tree-sitter, or None
    """Return the syntax tree; None where that takes too many steps."""
    steps = 0

    def is_too_long(_offset: int, _has_error: bool) -> bool:
        nonlocal steps
        steps += 1
        return steps > _MAX_STEPS

    def read_chunk(offset: int, _point: object) -> bytes:
        return content[offset : offset + _CHUNK_BYTES]

    parser = _load_parser(language)
    try:
        return parser.parse(read_chunk, encoding="utf8", progress_callback=is_too_long)
    except ValueError:  # it was told to stop
        parser.reset()
        return None


@cache
def _load_parser(language: str) -> Any:  # noqa: ANN401 - of a package that only the parsing process imports
    tree_sitter = importlib.import_module("tree_sitter")
    grammar = GRAMMARS[language]
    loaded = getattr(importlib.import_module(grammar.module), grammar.function)()
    return tree_sitter.Parser(tree_sitter.Language(loaded))


def _iterate_symbols(root: Any, content: bytes) -> Iterator[Symbol]:  # noqa: ANN401
    """Yield definitions in the order of the source. Bodies of functions are not looked into."""
    waiting, seen, found = [(root, 0)], 0, 0
    while waiting and seen < _MAX_NODES and found < _MAX_SYMBOLS:
        node, depth = waiting.pop()
        seen += 1
        symbol = _read_symbol(node, depth, content)
        if symbol is not None:
            found += 1
            yield symbol
        if node.type in HOLDING_NODES and node is not root:
            inner = _list_held(node)
            depth += symbol is not None
        elif node.type in PASSED_NODES or node is root:
            inner = node.named_children
        else:
            inner = _list_inner_types(node)
        if depth <= _MAX_DEPTH:
            for child in reversed(inner[:_MAX_NODES]):
                if child.type in KIND_BY_NODE or child.type in PASSED_NODES:
                    waiting.append((child, depth))


def _list_held(node: Any) -> list[Any]:  # noqa: ANN401
    """Return the nodes in which the definitions stand that belong to this one."""
    body = node.child_by_field_name("body") or node.child_by_field_name("type")
    return [body] if body is not None else []


def _list_inner_types(node: Any) -> list[Any]:  # noqa: ANN401
    """Return the type that a declaration of C defines on its way."""
    if node.type in {"declaration", "field_declaration"}:
        inner = node.child_by_field_name("type")
        return [inner] if inner is not None else []
    return []


def _read_symbol(node: Any, depth: int, content: bytes) -> Symbol | None:  # noqa: ANN401
    """Return what a node defines; None for nothing that anybody else would name."""
    kind = KIND_BY_NODE.get(node.type)
    if kind is None or node.parent is None:
        return None
    named = _find_name(node)
    if named is None:
        return None
    name = _to_line(content[named.start_byte : named.end_byte], _NAME_CHARS)
    if kind == "declaration":
        kind = _classify_declaration(node)
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is None:
        return None  # a use of the type, not its definition
    if kind == "value":
        kind = _classify_value(node, name, depth)
    if not name or not kind:
        return None
    signature = _read_signature(node, content)
    if kind == "constant":
        signature = signature.partition("=")[0].rstrip()  # a value may be long, or a secret
    return Symbol(kind, name, node.start_point[0] + 1, depth, signature)


def _find_name(node: Any) -> Any:  # noqa: ANN401
    """Return the node that holds the name; in C it lies below any number of declarators."""
    if node.type == "impl_item":
        return node.child_by_field_name("type")
    for field in ("name", "left"):
        if (named := node.child_by_field_name(field)) is not None:
            return named
    for _ in range(_MAX_DECLARATORS):
        inner = node.child_by_field_name("declarator")
        if inner is None:
            break
        node = inner
    if node.type == "qualified_identifier":
        return node.child_by_field_name("name") or node
    return node if node.named_child_count == 0 else None


def _classify_declaration(node: Any) -> str:  # noqa: ANN401
    """Return `function` for the declaration of one in C; nothing for variables and fields."""
    for _ in range(_MAX_DECLARATORS):
        node = node.child_by_field_name("declarator")
        if node is None:
            return ""
        if node.type == "function_declarator":
            return "function"
    return ""


def _classify_value(node: Any, name: str, depth: int) -> str:  # noqa: ANN401
    """Return `function` for a variable that holds one, `constant` for what is named as one, else nothing."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is not None and value.type in FUNCTION_VALUES:
        return "function"
    is_constant = name.isupper() or node.type in {"const_item", "static_item"}
    is_exported = node.type in {"const_spec", "var_spec"} and name[:1].isupper()
    return "constant" if depth == 0 and (is_constant or is_exported) else ""


def _read_signature(node: Any, content: bytes) -> str:  # noqa: ANN401
    """Return the head of a definition in one line."""
    begin, end = node.start_byte, node.end_byte
    holder = node
    if (value := node.child_by_field_name("value")) is not None and value.type in FUNCTION_VALUES:
        holder = value
    body = holder.child_by_field_name("body")
    if body is not None:
        end = max(body.start_byte, begin + 1)
    head = content[begin : min(end, begin + _MAX_SIGNATURE_BYTES)]
    if body is None and node.type != "type_spec":
        if node.type in {"method", "singleton_method", "class", "module"}:
            head = head.partition(b"\n")[0]
        elif node.type.endswith(("_specifier", "_definition")):
            head = head.partition(b"{")[0]
    return _to_line(head, _SIGNATURE_CHARS).rstrip(" {")


def _to_line(text: bytes, limit: int) -> str:
    """Return a text in one line of at most so many characters, in which nothing controls a terminal."""
    line = " ".join(text.decode("utf-8", "replace").split())
    if not line.isprintable():
        line = "".join(filter(str.isprintable, line))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"

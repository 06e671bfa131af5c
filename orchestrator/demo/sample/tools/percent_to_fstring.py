"""A small codemod: turns `"… %s …" % name` into f-strings. Like many, it is right nearly everywhere.

It takes strings whose only placeholders are %s and whose values are plain names, and leaves everything else alone. It
does not think of braces that stand in the string already; that is the mistake the demo is about.
"""

import ast
import pathlib
import sys


def names_of(node):
    values = node.elts if isinstance(node, ast.Tuple) else [node]
    return [value.id for value in values] if all(isinstance(value, ast.Name) for value in values) else None


def replacement(node, source):
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant)):
        return None
    text, names = ast.get_source_segment(source, node.left), names_of(node.right)
    if not isinstance(node.left.value, str) or names is None or not text.count("%") == text.count("%s") == len(names):
        return None
    first, *rest = text.split("%s")
    return "f" + first + "".join("{" + name + "}" + part for name, part in zip(names, rest))


def convert(source):
    lines = source.splitlines(keepends=True)
    for node in sorted(ast.walk(ast.parse(source)), key=lambda n: getattr(n, "lineno", 0), reverse=True):
        new = replacement(node, source)
        if new is not None and node.lineno == node.end_lineno:
            line = lines[node.lineno - 1].encode()
            lines[node.lineno - 1] = (line[: node.col_offset] + new.encode() + line[node.end_col_offset :]).decode()
    return "".join(lines)


for path in map(pathlib.Path, sys.argv[1:]):
    path.write_text(convert(path.read_text()))

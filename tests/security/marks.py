"""Which tests are those of an attack: read from the source of all tests, without importing any."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]


_SLOW = ("pytest.mark.slow", "pytest.mark.extended", "pytest.mark.registry")


def attack_tests(*, with_slow: bool = True) -> dict[int, list[str]]:
    """The tests of each attack by its number, as `tests/….py::name`, sorted; with all of them, or the quick ones."""
    found: dict[int, set[str]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        if "scenarios" in file.parts or b"mark.attack(" not in (text := file.read_bytes()):
            continue
        for name, number in _marked(ast.parse(text).body, with_slow):
            found.setdefault(number, set()).add(f"{file.relative_to(TESTS.parent)}::{name}")
    return {number: sorted(tests) for number, tests in sorted(found.items())}


def _marked(body: list[ast.stmt], with_slow: bool, prefix: str = "") -> Iterator[tuple[str, int]]:
    of_all = [node.value for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets) == "pytestmark"]
    if not with_slow and any(map(_is_slow, of_all)):
        return
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _marked(node.body, with_slow, f"{prefix}{node.name}::")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            if not with_slow and any(map(_is_slow, node.decorator_list)):
                continue
            marks = (*of_all, *node.decorator_list)
            yield from ((prefix + node.name, number) for mark in marks for number in _numbers(mark))


def _is_slow(mark: ast.expr) -> bool:
    return any(name in ast.unparse(mark) for name in _SLOW)


def _numbers(marks: ast.expr) -> Iterator[int]:
    for mark in ast.walk(marks):
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.attack":
            yield from (int(ast.literal_eval(number)) for number in mark.args)

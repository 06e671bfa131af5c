"""Measure the words and shapes of the product's code: `python -m tools.measure_style [--json] [--list FIGURE] [ROOT]`.

Prints one figure a line with its bound, and exits 1 if a bound is broken. `--list FIGURE` names what counts against it.
The figures are those of the style guide: names and docstrings that can be guessed, expressions of one idea a line,
typed documents, and folders in which something can be found. (`bench/startup.py` measures what an import costs.)
"""

import argparse
import ast
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PRODUCT = ("orchestrator", "roles", "prompts", "worktrees")
EXCLUDED = "orchestrator/demo/sample"

_QUESTION = re.compile(r"(What|Whether|Why|How|Where|Who|When|Which)\b")
_UNTYPED = re.compile(r"(?:dict|Mapping)\[str, Any\]")
_NOT_COUNTED = {"property", "cached_property", "override", "command", "setter"}
_MAX_UNTYPED = 10
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Module:
    """One module of the product. `path` is relative to the root, with `/`."""

    path: str
    source: str
    tree: ast.Module

    @property
    def folder(self) -> str:
        """The folder that it lies in."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True)
class Figure:
    """One figure: its value, the largest allowed one, and what counts against it."""

    name: str
    value: float
    bound: float
    unit: str
    examples: tuple[str, ...] = ()

    @property
    def is_kept(self) -> bool:
        """True if the value is within its bound."""
        return self.value <= self.bound


def read_modules(root: Path) -> list[Module]:
    """Read all modules of the product below `root`, without the sample project of the demo."""
    modules = []
    for package in PRODUCT:
        for path in sorted((root / package).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            if not name.startswith(EXCLUDED):
                source = path.read_text(encoding="utf-8")
                modules.append(Module(name, source, ast.parse(source)))
    return modules


def iterate_public_functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield public functions and methods that a caller names: no properties, overrides or click commands."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            decorators = {_get_last_name(decorator) for decorator in node.decorator_list}
            if not decorators & _NOT_COUNTED:
                yield node


def find_one_word_functions(modules: list[Module]) -> list[str]:
    """Return public functions and methods whose name is a single word, as `path:line name`."""
    found = []
    for module in modules:
        for function in iterate_public_functions(module):
            if "_" not in function.name:
                found.append(f"{module.path}:{function.lineno} {function.name}")
    return found


def find_shared_class_names(modules: list[Module]) -> dict[str, set[str]]:
    """Return names of public classes that stand in more than one folder, each with its folders."""
    folders = _collect_class_folders(modules)
    return {name: places for name, places in folders.items() if len(places) > 1}


def find_question_docstrings(modules: list[Module]) -> list[str]:
    """Return functions and classes whose docstring begins with a question word, as `path:line name`."""
    found = []
    for module, node, text in _iterate_docstrings(modules):
        if _QUESTION.match(text):
            found.append(f"{module.path}:{node.lineno} {node.name}")
    return found


def measure_tree(root: Path) -> list[Figure]:
    """Measure everything that can be read from the sources below `root`."""
    modules = read_modules(root)
    functions = sum(1 for module in modules for _ in iterate_public_functions(module))
    one_word = find_one_word_functions(modules)
    shared, classes = find_shared_class_names(modules), _collect_class_folders(modules)
    questions, docstrings = find_question_docstrings(modules), sum(1 for _ in _iterate_docstrings(modules))
    lines = sum(count_code_lines(module.source) for module in modules)
    untyped = [f"{module.path} {count}" for module in modules if (count := _count_untyped(module))]
    folders = Counter(module.folder for module in modules if not module.path.endswith("/__init__.py"))
    largest = max(folders, key=lambda folder: folders[folder])
    return [
        Figure("one-word-functions", _share(len(one_word), functions), 10, "%", tuple(one_word)),
        Figure(
            "shared-class-names",
            _share(sum(map(len, shared.values())), sum(map(len, classes.values()))),
            2,
            "%",
            tuple(f"{name}: {', '.join(sorted(places))}" for name, places in sorted(shared.items())),
        ),
        Figure("question-docstrings", _share(len(questions), docstrings), 2, "%", tuple(questions)),
        Figure("ternaries", 1_000 * _count_nodes(modules, ast.IfExp) / lines, 15, "per 1,000 lines"),
        Figure("comprehensions", 1_000 * _count_nodes(modules, *_COMPREHENSIONS) / lines, 25, "per 1,000 lines"),
        Figure(
            "untyped-documents", sum(map(_count_untyped, modules)), _MAX_UNTYPED, "in report and cli", tuple(untyped)
        ),
        Figure("largest-folder", folders[largest], 20, f"modules in {largest}"),
    ]


def count_code_lines(source: str) -> int:
    """Count the lines of a module that are neither empty nor a comment alone; docstrings count."""
    return sum(1 for line in map(str.strip, source.splitlines()) if line and not line.startswith("#"))


def main(arguments: list[str] | None = None) -> int:
    """Print the figures; return 0 if all bounds are kept, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.measure_style", description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--list", metavar="FIGURE", help="name what counts against a figure")
    given = parser.parse_args(arguments)
    figures = measure_tree(given.root)
    if given.list:
        print(*next((figure.examples for figure in figures if figure.name == given.list), ()), sep="\n")
    elif given.json:
        print(json.dumps({figure.name: {"value": figure.value, "bound": figure.bound} for figure in figures}))
    else:
        for figure in figures:
            sign = "ok  " if figure.is_kept else "over"
            print(f"{sign} {figure.name:20} {figure.value:7.2f} of at most {figure.bound:g} {figure.unit}")
    return int(not all(figure.is_kept for figure in figures))


def _iterate_docstrings(
    modules: list[Module],
) -> Iterator[tuple[Module, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, str]]:
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                text = ast.get_docstring(node)
                if text:
                    yield module, node, text


def _collect_class_folders(modules: list[Module]) -> dict[str, set[str]]:
    folders: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                folders[node.name].add(module.folder)
    return folders


def _count_nodes(modules: list[Module], *kinds: type[ast.AST]) -> int:
    return sum(isinstance(node, kinds) for module in modules for node in ast.walk(module.tree))


def _count_untyped(module: Module) -> int:
    if not module.path.startswith(("orchestrator/report/", "orchestrator/cli/")):
        return 0
    return len(_UNTYPED.findall(module.source))


def _get_last_name(decorator: ast.expr) -> str:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""


def _share(part: int, whole: int) -> float:
    return 100 * part / max(whole, 1)


if __name__ == "__main__":
    sys.exit(main())

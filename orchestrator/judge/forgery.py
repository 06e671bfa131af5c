"""Python code that would talk the test run into another result: what a change adds of it, found in its syntax.

A lint cannot prove that nothing is forged. It makes the known ways cost a look, and what it misses meets the base's
tests, the missing ids and the reviewer.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from orchestrator.judge.changed import ChangedFile
from orchestrator.judge.places import is_test
from orchestrator.judge.rules import Finding
from orchestrator.judge.syntax import parse

_ON_IMPORT = frozenset(
    {"os.kill", "os.execv", "os.execve", "os.execvp", "sys.exit", "exit", "quit", "atexit.register"}
    | {"signal.signal", "signal.raise_signal", "signal.setitimer"}
)
_ANYWHERE = frozenset({"os._exit", "os.abort"})
_RUNNERS = frozenset({"pytest", "unittest", "pluggy", "nose", "xdist"})
_WORDS = ("_pytest", "ORCHESTRATE_REPORT", "junitxml", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST")
_ATTRIBUTES = frozenset({"sys.orig_argv", "sys.settrace", "sys.setprofile"})
_Seen = tuple[str, int]
"""What was found, in words, and its line."""


def forgery_findings(files: Sequence[ChangedFile], is_granted: Callable[[str], bool]) -> Iterator[Finding]:
    """A blocking finding for each trick that a file does and its version on the base did not. Blocks."""
    for file in files:
        if not file.is_python or file.after is None or is_granted(file.path):
            continue
        known = Counter(what for what, _ in _tricks(file.path, file.before or b""))
        for what, line in _tricks(file.path, file.after):
            known[what] -= 1
            if known[what] < 0:
                yield Finding(rule="forgery", text=f"{file.path}:{line} {what}", is_blocking=True)


def _tricks(path: str, source: bytes) -> list[_Seen]:
    tree = parse(source)
    if tree is None:
        return []  # what cannot be read cannot run either: the tests will say so
    names = _Names(tree)
    found = [*_on_import(_but_for_its_main_part(path, tree.body), names), *_anywhere(tree, names)]
    return found if is_test(path) else [*found, *_beside_tests(tree, names)]


def _on_import(body: Sequence[ast.stmt], names: "_Names") -> Iterator[_Seen]:
    """What ends or outlives the process as soon as the module is imported; scripts' own main parts are none of it."""
    for node in _imported(body):
        if isinstance(node, ast.Call) and (name := names.dotted(node.func)) in _ON_IMPORT:
            yield f"calls {name} when it is imported, which can end a test run or change how it ends", node.lineno
        if isinstance(node, ast.Raise) and "SystemExit" in ast.unparse(node):
            yield "raises SystemExit when it is imported, which ends a test run", node.lineno


def _but_for_its_main_part(path: str, body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The body without the last statement of a package's `__main__.py`, which is there to leave with an exit code."""
    return body[:-1] if PurePosixPath(path).name == "__main__.py" and not is_test(path) else body


def _imported(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Every node that an import executes."""
    stack: list[ast.AST] = [statement for statement in body if not _is_main(statement)]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            stack += [*node.decorator_list, *node.args.defaults]
        elif not isinstance(node, ast.Lambda):
            stack += ast.iter_child_nodes(node)


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and ast.unparse(statement.test) in {
        "__name__ == '__main__'",
        "'__main__' == __name__",
    }


def _anywhere(tree: ast.Module, names: "_Names") -> Iterator[_Seen]:
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := names.dotted(node.func)) in _ANYWHERE:
            yield f"calls {name}, which ends a test run without a word", node.lineno
        elif isinstance(node, ast.Attribute) and (name := names.dotted(node)) in _ATTRIBUTES:
            yield f"uses {name}, by which code can tell that it is being tested", node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            if word := next((word for word in _WORDS if word in node.value), ""):
                yield f"speaks of {word}, which belongs to the test run", node.lineno
        elif isinstance(node, ast.Import | ast.ImportFrom) and "_pytest" in _modules(node):
            yield "imports _pytest, the insides of the test runner", node.lineno


def _beside_tests(tree: ast.Module, names: "_Names") -> Iterator[_Seen]:
    """What only code that is no test has no reason to do."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in sorted(_RUNNERS & _modules(node)):
                yield f"imports {name}, although it is no test", node.lineno
        elif isinstance(node, ast.ClassDef):
            yield from _always_equal(node)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any((names.dotted(target) or "").startswith(("builtins.", "__builtins__.")) for target in targets):
                yield "replaces one of Python's builtins", node.lineno


def _always_equal(node: ast.ClassDef) -> Iterator[_Seen]:
    for statement in node.body:
        match statement:
            case ast.FunctionDef(name="__eq__" | "__ne__" as name) if _constant(statement) is (name == "__eq__"):
                yield f"{node.name}.{name} always says the same, so that every comparison passes", statement.lineno
            case ast.Assign(targets=[ast.Name(id="__eq__" | "__ne__" as name)], value=ast.Lambda(body=ast.Constant())):
                yield f"{node.name}.{name} always says the same, so that every comparison passes", statement.lineno


def _constant(function: ast.FunctionDef) -> object:
    """The one constant that every return gives; None if there is no return, or not one constant alone."""
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    values = {node.value.value if isinstance(node.value, ast.Constant) else None for node in returns}
    return values.pop() if len(values) == 1 else None


def _modules(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The top-level modules that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    return {(node.module or "").partition(".")[0]} if node.level == 0 else set()


class _Names:
    """What names of a module stand for, whatever they were imported as."""

    def __init__(self, tree: ast.Module) -> None:
        self._known: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._known |= {alias.asname: alias.name for alias in node.names if alias.asname}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                self._known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}

    def dotted(self, node: ast.AST) -> str | None:
        """`a.b.c` for a chain of names; None for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        return ".".join((self._known.get(node.id, node.id), *reversed(parts)))

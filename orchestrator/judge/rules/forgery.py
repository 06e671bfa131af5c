"""Python code that would talk the test run into another result: what a change adds of it, found in its syntax.

A lint cannot prove that nothing is forged. It makes the known ways cost a look, and what it misses meets the base's
tests, the missing ids and the reviewer.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.files.path_protection import is_test_path
from orchestrator.judge.source.always_equal import find_always_equal
from orchestrator.judge.source.harness_detection import TEST_RUNNERS, find_run_inspection, find_test_detection
from orchestrator.judge.source.name_resolution import NameResolver, resolve_text
from orchestrator.judge.source.python_syntax import parse_python

_ON_IMPORT = frozenset(
    {"os.kill", "os.execv", "os.execve", "os.execvp", "sys.exit", "exit", "quit", "atexit.register"}
    | {"signal.signal", "signal.raise_signal", "signal.setitimer", "signal.alarm", "faulthandler.dump_traceback_later"}
)
_ANYWHERE = frozenset({"os._exit", "os.abort"})
_WORDS = re.compile(r"(?<!\w)_pytest\b|ORCHESTRATE_REPORT|junitxml|PYTEST_ADDOPTS|PYTEST_CURRENT_TEST")
_WORDS_BESIDE_TESTS = re.compile(rf"{_WORDS.pattern}|(?<!\w)PYTEST_\w*")
_Seen = tuple[str, int]
"""What was found, in words, and its line."""


def check_forgery(files: Sequence[ChangedFile], is_granted: Callable[[str], bool]) -> Iterator[Finding]:
    """A finding for each trick that a file does and its version on the base did not; of granted files it is only told.

    Blocks.
    """
    for file in files:
        if not file.is_python or file.after is None:
            continue
        granted = is_granted(file.path)
        known = Counter(what for what, _ in _tricks(file.path, file.before or b""))
        for what, line in _tricks(file.path, file.after):
            known[what] -= 1
            if known[what] < 0:
                told = f"{file.path}:{line} {what}{'; the plan lets this file change' if granted else ''}"
                yield Finding(rule="forgery", text=told, is_blocking=not granted, is_granted=granted)


def _tricks(path: str, source: bytes) -> list[_Seen]:
    tree = parse_python(source)
    if tree is None:
        return []  # what cannot be read cannot run either: the tests will say so
    names = NameResolver(tree)
    found = [*_on_import(_but_for_its_main_part(path, tree.body), names), *_anywhere(tree, names)]
    found += [*find_run_inspection(tree, names), *_spoken(tree, _WORDS if is_test_path(path) else _WORDS_BESIDE_TESTS)]
    return list(dict.fromkeys(found if is_test_path(path) else [*found, *_beside_tests(tree, names)]))


def _on_import(body: Sequence[ast.stmt], names: NameResolver) -> Iterator[_Seen]:
    """What ends or outlives the process as soon as the module is imported; scripts' own main parts are none of it."""
    for node in _imported(body):
        if isinstance(node, ast.Call) and (name := names.resolve_name(node.func)) in _ON_IMPORT:
            yield f"calls {name} when it is imported, which can end a test run or change how it ends", node.lineno
        if isinstance(node, ast.Raise) and "SystemExit" in ast.unparse(node):
            yield "raises SystemExit when it is imported, which ends a test run", node.lineno


def _but_for_its_main_part(path: str, body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The body without the last statement of a package's `__main__.py`, which is there to leave with an exit code."""
    if PurePosixPath(path).name == "__main__.py" and not is_test_path(path):
        return body[:-1]
    return body


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


def _anywhere(tree: ast.Module, names: NameResolver) -> Iterator[_Seen]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and (name := names.resolve_name(node)) in _ANYWHERE:
            if id(node) in called:
                verb = "calls"
            else:
                verb = "hands on"
            yield f"{verb} {name}, which ends a test run without a word", node.lineno
        elif isinstance(node, ast.Import | ast.ImportFrom) and "_pytest" in _modules(node):
            yield "imports _pytest, the insides of the test runner", node.lineno


def _spoken(tree: ast.Module, words: re.Pattern[str]) -> Iterator[_Seen]:
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and id(node) not in docs and (word := words.search(resolve_text(node) or "")):
            yield f"speaks of {word[0]}, which belongs to the test run", node.lineno


def _beside_tests(tree: ast.Module, names: NameResolver) -> Iterator[_Seen]:
    """What only code that is no test has no reason to do."""
    yield from find_always_equal(tree, names)
    yield from find_test_detection(tree, names)
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                for name in sorted(TEST_RUNNERS & _modules(node)):
                    yield f"imports {name}, although it is no test", node.lineno
            case ast.Call() if (names.resolve_name(node) or "").partition(".")[0] in TEST_RUNNERS:
                yield f"imports {names.resolve_name(node)} by its name, although it is no test", node.lineno
            case (
                ast.Call(func=ast.Name(id="setattr"), args=[of, *_])
                | ast.Call(func=ast.Attribute(value=of, attr="update" | "__setitem__"))
            ) if names.resolve_name(of) in {"builtins", "builtins.__dict__", "__builtins__"}:
                yield "replaces one of Python's builtins", node.lineno
            case ast.Assign(targets=targets) if any(_is_of_builtins(target, names) for target in targets):
                yield "replaces one of Python's builtins", node.lineno
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target) if _is_of_builtins(target, names):
                yield "replaces one of Python's builtins", node.lineno


def _is_of_builtins(target: ast.expr, names: NameResolver) -> bool:
    is_part = isinstance(target, ast.Attribute | ast.Subscript)
    return is_part and (names.resolve_name(target) or "").startswith(("builtins.", "__builtins__."))


def _modules(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The top-level modules that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if node.level == 0:
        return {(node.module or "").partition(".")[0]}
    return set()

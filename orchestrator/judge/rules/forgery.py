"""Python code that would talk the test run into another result: what a change adds of it, found in its syntax.

A lint cannot prove that nothing is forged. It makes the known ways cost a look, and what it misses meets the base's
tests, the missing ids and the reviewer.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import PurePosixPath
from typing import NamedTuple

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.files.changed_file import is_test_path, subtract_known
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.source.always_equal import find_always_equal
from orchestrator.judge.source.name_resolution import NameResolver, resolve_text
from orchestrator.judge.source.process_ends import find_child_nodes, hands_on_process_end
from orchestrator.judge.source.python_syntax import find_module_nodes, list_module_nodes, parse_python
from orchestrator.judge.source.shipped_test_support import is_shipped_test_support

_TEST_RUNNERS = frozenset({"pytest", "unittest", "pluggy", "nose", "xdist"})
_ATTRIBUTES = frozenset({"sys.orig_argv", "sys.settrace", "sys.setprofile"})
_FRAMES = frozenset(
    {"inspect.stack", "inspect.currentframe", "inspect.getouterframes", "traceback.extract_stack"}
    | {"traceback.walk_stack", "sys._getframe", "sys._current_frames"}
)
_TEST_NAME = compile_lazily(r"(?=[\w.*/\\-]+\Z).*(?<![a-z])(?:py|unit)?tests?(?![a-z])", re.IGNORECASE)
"""A name or a path that has to do with tests, and no sentence."""
_TEST_FILE = compile_lazily(r"(?:^|[/\\])(?:test_[\w*?]*|[\w*?]+_test)\.py$")
_READERS = frozenset({"read_text", "read_bytes", "read", "readlines", "getsource", "getlines", "getline"})


class Trick(NamedTuple):
    """A trick in words, and its line.

    What code does for other reasons as well `is_usual`: that is told, and the outcomes say themselves if it was a
    forgery. So is what `is_of_test_support`, in modules that are shipped for the tests of others.
    """

    text: str
    line: int
    is_usual: bool = False
    is_of_test_support: bool = False


def _find_run_inspection(tree: ast.Module, names: NameResolver) -> Iterator[Trick]:
    """Yield what no code has a reason to ask of the process that runs it, tests included."""
    for node in find_module_nodes(tree, ast.Attribute):
        if (name := names.resolve_name(node)) in _ATTRIBUTES:
            yield Trick(f"uses {name}, by which code can tell that it is being tested", node.lineno)


def _find_test_detection(tree: ast.Module, names: NameResolver) -> Iterator[Trick]:
    """Yield what only code has a reason to ask that does something else while it is being tested."""
    texts = list(_find_texts(tree))
    speaks_of_tests = any(_TEST_NAME.match(text) for text, _ in texts)
    for call in find_module_nodes(tree, ast.Call):
        if speaks_of_tests and (name := names.resolve_name(call.func)) in _FRAMES:
            yield Trick(f"looks at who calls it ({name}) and speaks of tests", call.lineno)
            break
    for node in find_module_nodes(tree, ast.Attribute):
        if node.attr == "co_consts":
            yield Trick("reads constants out of code, such as those that a test expects", node.lineno)
    yield from _find_runner_lookups(tree, names)
    for text, line in texts:
        if _TEST_FILE.search(text) and _reads_files(tree):
            yield Trick(f"reads files and names tests ({text}), which hold the answers", line)
            return


def _find_runner_lookups(tree: ast.Module, names: NameResolver) -> Iterator[Trick]:
    for node in list_module_nodes(tree):
        match node:
            case (
                ast.Subscript(value=value, slice=part)
                | ast.Compare(left=part, ops=[ast.In() | ast.NotIn()], comparators=[value])
            ):
                pass
            case ast.Call(func=ast.Attribute(value=value), args=[part, *_]):
                pass
            case _:
                continue
        if names.resolve_name(value) == "sys.modules" and (resolve_text(part) or "").partition(".")[0] in _TEST_RUNNERS:
            text = f"looks for {resolve_text(part)} among the loaded modules, although it is no test"
            yield Trick(text, node.lineno)


def _find_texts(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the texts of a module that are no docstrings, with their lines."""
    docstrings = {id(node.value) for node in find_module_nodes(tree, ast.Expr)}
    for node in find_module_nodes(tree, ast.expr):
        if id(node) not in docstrings and (text := resolve_text(node)) is not None:
            yield text, node.lineno


def _reads_files(tree: ast.Module) -> bool:
    """Return True if anything of a module reads a file."""
    for node in list_module_nodes(tree):
        match node:
            case ast.Call(func=ast.Name(id="open"), args=[_]):
                return True
            case ast.Call(func=ast.Name(id="open"), args=[_, mode, *_]) if "r" in (resolve_text(mode) or ""):
                return True
            case ast.Call(func=ast.Attribute(attr=name)) if name in _READERS:
                return True
    return False


_CALLS_ON_IMPORT = frozenset(
    {"os.kill", "os.execv", "os.execve", "os.execvp", "sys.exit", "exit", "quit", "atexit.register"}
    | {"signal.signal", "signal.raise_signal", "signal.setitimer", "signal.alarm", "faulthandler.dump_traceback_later"}
)
_USUAL_ON_IMPORT = frozenset({"atexit.register", "signal.signal"})
_EXITS = frozenset({"os._exit", "os.abort"})
_RUNNER_WORDS = compile_lazily(r"(?<!\w)_pytest\b|ORCHESTRATE_REPORT|junitxml|PYTEST_ADDOPTS|PYTEST_CURRENT_TEST")
_RUNNER_WORDS_OUTSIDE_TESTS = compile_lazily(rf"{_RUNNER_WORDS.pattern}|(?<!\w)PYTEST_\w*")
_BUILTINS = frozenset({"builtins", "builtins.__dict__", "__builtins__"})
_REPLACES_BUILTIN = "replaces one of Python's builtins"
_MAIN_TESTS = frozenset({"__name__ == '__main__'", "'__main__' == __name__"})


def check_forgery(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each trick that a file does and its version on the base did not.

    It blocks unless the plan grants the file, or the trick is one that code has other reasons for.
    """
    for file in facts.files:
        if not file.is_python or file.after is None:
            continue
        note = "; the plan lets this file change" if facts.is_excused(file.path) else ""
        known, tricks = _find_tricks(file.path, file.before or b""), _find_tricks(file.path, file.after)
        new = subtract_known(tricks, known, attrgetter("text"))
        is_support = bool(new) and is_shipped_test_support(file, facts.files)
        for trick in new:
            is_severe = not (trick.is_usual or (is_support and trick.is_of_test_support))
            text = f"{file.path}:{trick.line} {trick.text}{note}"
            yield facts.build_finding(RuleId.FORGERY, text, file.path, trick.line, is_severe=is_severe)


def _find_tricks(path: str, source: bytes) -> list[Trick]:
    tree = parse_python(source)
    if tree is None:
        return []  # what cannot be read cannot run either: the tests will say so
    names = NameResolver(tree)
    tricks = [
        *_find_tricks_on_import(_remove_package_exit(path, tree.body), names),
        *_find_silent_exits(tree, names),
        *_find_run_inspection(tree, names),
    ]
    if is_test_path(path):
        tricks += _find_words(tree, _RUNNER_WORDS)
    else:
        tricks += _find_words(tree, _RUNNER_WORDS_OUTSIDE_TESTS)
        tricks += _find_tricks_outside_tests(tree, names)
    return list(dict.fromkeys(tricks))


def _find_tricks_on_import(body: Sequence[ast.stmt], names: NameResolver) -> Iterator[Trick]:
    """Yield what ends or outlives the process as soon as the module is imported, outside of scripts' main parts."""
    for node in _walk_imported(body):
        if isinstance(node, ast.Call) and (name := names.resolve_name(node.func)) in _CALLS_ON_IMPORT:
            is_usual = name in _USUAL_ON_IMPORT and not hands_on_process_end(node, names)
            text = f"calls {name} when it is imported, which can end a test run or change how it ends"
            yield Trick(text, node.lineno, is_usual=is_usual)
        if isinstance(node, ast.Raise) and "SystemExit" in ast.unparse(node):
            yield Trick("raises SystemExit when it is imported, which ends a test run", node.lineno)


def _remove_package_exit(path: str, body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """Return the body without the last statement of a package's `__main__.py`, which may leave with an exit code."""
    if PurePosixPath(path).name == "__main__.py" and not is_test_path(path):
        return body[:-1]
    return body


def _walk_imported(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield every node that an import executes."""
    stack: list[ast.AST] = []
    for statement in body:
        if not (isinstance(statement, ast.If) and ast.unparse(statement.test) in _MAIN_TESTS):
            stack.append(statement)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            stack += [*node.decorator_list, *node.args.defaults]
        elif not isinstance(node, ast.Lambda):
            stack += ast.iter_child_nodes(node)


def _find_silent_exits(tree: ast.Module, names: NameResolver) -> Iterator[Trick]:
    called, children = {id(call.func) for call in find_module_nodes(tree, ast.Call)}, find_child_nodes(tree, names)
    for node in list_module_nodes(tree):
        if isinstance(node, ast.expr) and (name := names.resolve_name(node)) in _EXITS:
            verb = "calls" if id(node) in called else "hands on"
            text = f"{verb} {name}, which ends a test run without a word"
            if id(node) in children:
                text = f"{verb} {name}, in the child of a fork"
            yield Trick(text, node.lineno, is_usual=id(node) in children)
        elif isinstance(node, ast.Import | ast.ImportFrom) and "_pytest" in _list_imported_modules(node):
            yield Trick("imports _pytest, the insides of the test runner", node.lineno)


def _find_words(tree: ast.Module, words: re.Pattern[str]) -> Iterator[Trick]:
    for text, line in _find_texts(tree):
        if word := words.search(text):
            yield Trick(f"speaks of {word[0]}, which belongs to the test run", line)


def _find_tricks_outside_tests(tree: ast.Module, names: NameResolver) -> Iterator[Trick]:
    """Yield what only code that is no test has no reason to do."""
    for text, line in find_always_equal(tree, names):
        yield Trick(text, line)
    yield from _find_test_detection(tree, names)
    for node in list_module_nodes(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                for name in sorted(_TEST_RUNNERS & _list_imported_modules(node)):
                    yield Trick(f"imports {name}, although it is no test", node.lineno, is_of_test_support=True)
            case ast.Call() if (names.resolve_name(node) or "").partition(".")[0] in _TEST_RUNNERS:
                yield Trick(f"imports {names.resolve_name(node)} by its name, although it is no test", node.lineno)
            case (
                ast.Call(func=ast.Name(id="setattr"), args=[of, *_])
                | ast.Call(func=ast.Attribute(value=of, attr="update" | "__setitem__"))
            ) if names.resolve_name(of) in _BUILTINS:
                yield Trick(_REPLACES_BUILTIN, node.lineno)
            case ast.Assign(targets=targets) if any(_is_builtin(target, names) for target in targets):
                yield Trick(_REPLACES_BUILTIN, node.lineno)
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target) if _is_builtin(target, names):
                yield Trick(_REPLACES_BUILTIN, node.lineno)


def _is_builtin(target: ast.expr, names: NameResolver) -> bool:
    is_part = isinstance(target, ast.Attribute | ast.Subscript)
    return is_part and (names.resolve_name(target) or "").startswith(("builtins.", "__builtins__."))


def _list_imported_modules(node: ast.Import | ast.ImportFrom) -> set[str]:
    """Return the top-level modules that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if node.level == 0:
        return {(node.module or "").partition(".")[0]}
    return set()

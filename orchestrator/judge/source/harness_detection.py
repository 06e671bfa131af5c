"""Code that finds out by which test it is being run: what it does then is no proof of what it does otherwise."""

import ast
import re
from collections.abc import Iterator

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.source.name_resolution import NameResolver, resolve_text
from orchestrator.judge.source.python_syntax import find_nodes

TEST_RUNNERS = frozenset({"pytest", "unittest", "pluggy", "nose", "xdist"})
_ATTRIBUTES = frozenset({"sys.orig_argv", "sys.settrace", "sys.setprofile"})
_FRAMES = frozenset(
    {"inspect.stack", "inspect.currentframe", "inspect.getouterframes", "traceback.extract_stack"}
    | {"traceback.walk_stack", "sys._getframe", "sys._current_frames"}
)
_TEST_NAME = compile_lazily(r"(?=[\w.*/\\-]+\Z).*(?<![a-z])(?:py|unit)?tests?(?![a-z])", re.IGNORECASE)
"""A name or a path that has to do with tests, and no sentence."""
_TEST_FILE = compile_lazily(r"(?:^|[/\\])(?:test_[\w*?]*|[\w*?]+_test)\.py$")
_READERS = frozenset({"read_text", "read_bytes", "read", "readlines", "getsource", "getlines", "getline"})
_Trick = tuple[str, int]


def find_run_inspection(tree: ast.Module, names: NameResolver) -> Iterator[_Trick]:
    """Yield what no code has a reason to ask of the process that runs it, tests included."""
    for node in find_nodes(tree, ast.Attribute):
        if (name := names.resolve_name(node)) in _ATTRIBUTES:
            yield f"uses {name}, by which code can tell that it is being tested", node.lineno


def find_test_detection(tree: ast.Module, names: NameResolver) -> Iterator[_Trick]:
    """Yield what only code has a reason to ask that does something else while it is being tested."""
    texts = _list_texts(tree)
    frames = []
    for call in find_nodes(tree, ast.Call):
        if names.resolve_name(call.func) in _FRAMES:
            frames.append(call)
    if frames and any(_TEST_NAME.match(text) for text, _ in texts):
        yield f"looks at who calls it ({names.resolve_name(frames[0].func)}) and speaks of tests", frames[0].lineno
    for node in find_nodes(tree, ast.Attribute):
        if node.attr == "co_consts":
            yield "reads constants out of code, such as those that a test expects", node.lineno
    yield from _find_runner_lookups(tree, names)
    for text, line in texts:
        if _TEST_FILE.search(text) and _reads_files(tree):
            yield f"reads files and names tests ({text}), which hold the answers", line
            return


def _find_runner_lookups(tree: ast.Module, names: NameResolver) -> Iterator[_Trick]:
    for node in ast.walk(tree):
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
        if names.resolve_name(value) == "sys.modules" and (resolve_text(part) or "").partition(".")[0] in TEST_RUNNERS:
            yield f"looks for {resolve_text(part)} among the loaded modules, although it is no test", node.lineno


def _list_texts(tree: ast.Module) -> list[_Trick]:
    """Return the texts of a module that are no docstrings."""
    docstrings = {id(node.value) for node in find_nodes(tree, ast.Expr)}
    nodes = [node for node in find_nodes(tree, ast.expr) if id(node) not in docstrings]
    return [(text, node.lineno) for node in nodes if (text := resolve_text(node)) is not None]


def _reads_files(tree: ast.Module) -> bool:
    """Return True if anything of a module reads a file."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="open"), args=[_]):
                return True
            case ast.Call(func=ast.Name(id="open"), args=[_, mode, *_]) if "r" in (resolve_text(mode) or ""):
                return True
            case ast.Call(func=ast.Attribute(attr=name)) if name in _READERS:
                return True
    return False

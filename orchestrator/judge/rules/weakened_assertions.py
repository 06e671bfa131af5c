"""The ratchet of assertions: what tests that a task was granted ask for less than they did, found in their syntax.

The plan let the task change these files, so all of this is told and nothing of it blocks.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence

from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.files.path_protection import is_test_path
from orchestrator.judge.rules.diff_summary import join_first_items
from orchestrator.judge.source.assertions import Assertion, AssertionStrength, list_assertions, list_function_assertions
from orchestrator.judge.source.python_syntax import get_last_name, parse_python
from orchestrator.judge.source.testcases import TestFunction, list_test_functions

_SWALLOWED = frozenset({"Exception", "BaseException", "AssertionError"})
_ASSERTING_FIXTURES = re.compile(r"snapshot|regression|benchmark|golden", re.IGNORECASE)
_Told = tuple[int, str]
"""A line of the new file, and what is to be said of it."""
_Pair = tuple[TestFunction, TestFunction | None]
_KEYS: tuple[Callable[[TestFunction], Hashable], ...] = (
    lambda one: (one.path, one.name),
    lambda one: one.name,
    lambda one: one.last_name,
    lambda one: one.body_dump,
)
"""By what a function is found again, the surest first."""


def check_weakened_assertions(files: Sequence[ChangedFile], is_granted: Callable[[str], bool]) -> Iterator[Finding]:
    """A finding for each granted test that asks for less, and for each new test that asks for nothing. Blocks."""
    tests = [file for file in files if file.is_python and is_test_path(file.path)]
    before = {file.path: _functions(file.path, file.before) for file in tests}
    after = [one for file in tests for one in _functions(file.path, file.after)]
    pairs = _pairs([one for path, found in before.items() if is_granted(path) for one in found], after)
    for old, new in pairs:
        for line, told in () if new is None else _losses(old, new):
            yield _finding(f"{old.path if new is None else new.path}:{line} {told}")
    yield from _gone([old for old, new in pairs if new is None and old.is_collected])
    known = {(path, one.name) for path, found in before.items() for one in found}
    taken = {id(new) for _, new in pairs}
    yield from _of_new([one for one in after if id(one) not in taken and (one.path, one.name) not in known], after)


def _finding(text: str) -> Finding:
    return Finding(rule="weakened", text=text, is_blocking=False)


def _functions(path: str, content: bytes | None) -> list[TestFunction]:
    tree = parse_python(content) if content else None
    if tree is None:
        return []
    return list_test_functions(path, tree)


def _pairs(before: Sequence[TestFunction], after: Sequence[TestFunction]) -> list[_Pair]:
    """Each function of before with what became of it: the same name there, elsewhere, in another class, or its body."""
    left, found = {id(one): one for one in after}, dict[int, TestFunction]()
    for key in _KEYS:
        by_key: dict[Hashable, list[TestFunction]] = {}
        for one in left.values():
            by_key.setdefault(key(one), []).append(one)
        for old in before:
            successors = [] if id(old) in found else by_key.get(key(old), [])
            if successors:
                found[id(old)] = left.pop(id(successors.pop()))
    return [(old, found.get(id(old))) for old in before]


def _losses(old: TestFunction, new: TestFunction) -> Iterator[_Told]:
    line, name = new.node.lineno, old.last_name
    if old.is_collected and not new.is_collected:
        yield line, f"no runner takes {new.last_name} for a test, as it did {name}"
    for mark in sorted((Counter(new.marks) - Counter(old.marks)).keys()):
        yield line, f"{name} has a new mark: {mark}"
    if old.cases is not None and new.cases is not None and new.cases < old.cases:
        yield line, f"{name} runs for {new.cases} cases, and ran for {old.cases}"
    if old.body_dump != new.body_dump:
        yield from _of_bodies(old, new)


def _of_bodies(old: TestFunction, new: TestFunction) -> Iterator[_Told]:
    name = old.last_name
    if _is_empty(new.node.body):
        yield new.node.lineno, f"{name} is empty now"
        return
    for line in _swallowing(new.node)[len(_swallowing(old.node)) :]:
        yield line, f"{name} goes on when an assertion fails"
    was, now = list_function_assertions(old.node), list_function_assertions(new.node)
    weaker = list(_weaker(_without(was, now), _without(now, was)))
    yield from ((line, f"{name} asks for less: {told}") for line, told in weaker)
    fewer = _weight(now, new.cases) < _weight(was, old.cases) and None not in {old.cases, new.cases}
    if fewer and not weaker and not any(one.is_delegated for one in _without(now, was)):
        yield new.node.lineno, f"{name} has assertions: {_weight(now, 1)}, where it had {_weight(was, 1)}"


def _weight(found: Sequence[Assertion], cases: int | None) -> int:
    return sum(one.strength > AssertionStrength.NOTHING for one in found) * (cases or 0)


def _without(these: Sequence[Assertion], those: Sequence[Assertion]) -> list[Assertion]:
    known = Counter((one.words, one.subjects, one.tolerance) for one in those)
    left = []
    for one in these:
        key = (one.words, one.subjects, one.tolerance)
        known[key] -= 1
        if known[key] < 0:
            left.append(one)
    return left


def _weaker(gone: Sequence[Assertion], new: Sequence[Assertion]) -> Iterator[_Told]:
    left, changed = list(new), list[Assertion]()
    for old in sorted(gone, key=lambda one: -one.strength):  # who asks for most has the first choice
        as_strict = [one for one in left if one.subjects == old.subjects and _is_kept(old, one)]
        if as_strict:
            left.remove(min(as_strict, key=lambda one: one.strength))
        else:
            changed.append(old)
    for old in changed:
        related = [one for one in left if one.is_related_to(old)]
        if not related:
            taken = [one for one in new if one.is_related_to(old)]
            if taken and not any(one.is_delegated for one in taken):
                yield taken[0].line, f"`{old.words}` is gone"
            continue
        now = max(related, key=lambda one: (one.strength, -one.tolerance))
        left.remove(now)
        if now.strength < old.strength:
            yield now.line, f"`{old.words}` became `{now.words}`"
        elif now.tolerance > old.tolerance * 1.001:
            yield now.line, f"`{now.words}` may be further off than `{old.words}`"
    yield from (
        (one.line, f"`{one.words}` asserts nothing") for one in left if one.strength == AssertionStrength.NOTHING
    )


def _is_kept(old: Assertion, new: Assertion) -> bool:
    return new.strength >= old.strength and new.tolerance <= old.tolerance * 1.001


def _is_empty(body: Sequence[ast.stmt]) -> bool:
    plain = (ast.Pass, ast.Return)
    return all(
        isinstance(one, plain) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)) for one in body
    )


def _swallowing(function: ast.AST) -> list[int]:
    """The lines at which a failed assertion is caught and forgotten."""
    return sorted(node.lineno for node in ast.walk(function) if _swallows(node) and hasattr(node, "lineno"))


def _swallows(node: ast.AST) -> bool:
    match node:
        case ast.Try(body=body, handlers=handlers):
            silent = [one for one in handlers if _is_broad(one.type) and not _tells(one)]
            return bool(silent and list_assertions(body))
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            calls = [item.context_expr for item in items if isinstance(item.context_expr, ast.Call)]
            silent_calls = [
                call for call in calls if get_last_name(call) == "suppress" and any(map(_is_broad, call.args))
            ]
            return bool(silent_calls and list_assertions(body))
    return False


def _is_broad(caught: ast.expr | None) -> bool:
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(name is None or get_last_name(name) in _SWALLOWED for name in names)


def _tells(handler: ast.ExceptHandler) -> bool:
    """Whether what is caught is raised again, or asserted upon."""
    return any(isinstance(node, ast.Raise) for node in ast.walk(handler)) or bool(list_assertions(handler.body))


def _gone(tests: Sequence[TestFunction]) -> Iterator[Finding]:
    by_path: dict[str, list[str]] = {}
    for test in tests:
        by_path.setdefault(test.path, []).append(test.last_name)
    for path, names in by_path.items():
        yield _finding(f"{path}: gone without a successor: {join_first_items(names, ', ', shown=5)}")


def _of_new(new: Sequence[TestFunction], known: Sequence[TestFunction]) -> Iterator[Finding]:
    asserting = {one.last_name for one in known if _asserts(one.node, frozenset())}
    for test in new:
        if test.is_shadowed and test.last_name.startswith("test"):
            yield _finding(f"{test.location} {test.last_name} never runs: something else takes its name further down")
        elif test.is_collected and not _asserts(test.node, asserting):
            yield _finding(f"{test.location} {test.last_name} is new and asserts nothing")


def _asserts(function: ast.FunctionDef | ast.AsyncFunctionDef, asserting: set[str] | frozenset[str]) -> bool:
    """Whether it can fail by what it says itself, or by what it calls of the functions beside it."""
    if any(one.strength > AssertionStrength.NOTHING for one in list_assertions(function.body)):
        return True
    if any(_ASSERTING_FIXTURES.search(argument.arg) for argument in function.args.args):
        return True
    nodes = list(ast.walk(function))
    called = {get_last_name(node) for node in nodes if isinstance(node, ast.Call)}
    return bool(called & asserting) or any(isinstance(node, ast.Raise) for node in nodes)

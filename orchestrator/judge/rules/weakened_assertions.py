"""The ratchet of assertions: what tests that a task was granted ask for less than they did, found in their syntax.

The plan let the task change these files, so all of this is told and nothing of it blocks.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.files.changed_file import is_test_path, subtract_known
from orchestrator.judge.rules.change_facts import ChangeFacts, build_flag
from orchestrator.judge.source.assertion_model import Assertion, AssertionStrength, count_assertions
from orchestrator.judge.source.assertions import list_assertions, list_function_assertions
from orchestrator.judge.source.python_syntax import FunctionNode, find_nodes, get_last_name, parse_python
from orchestrator.judge.source.swallowed_failures import swallows_assertions
from orchestrator.judge.source.testcases import TestFunction, list_test_functions

_ASSERTING_FIXTURES = compile_lazily(r"snapshot|regression|benchmark|golden", re.IGNORECASE)
_get_identity: Callable[[Assertion], Hashable] = attrgetter("identity")
_ROUNDING = 1.001
_MAX_SHOWN = 5
_Loss = tuple[int, str]
"""A line of the new file, and what a test asks for less there."""
_IDENTITIES: tuple[Callable[[TestFunction], Hashable], ...] = (
    lambda test: (test.path, test.name),
    lambda test: test.name,
    lambda test: test.last_name,
    lambda test: test.body_dump,
)
"""By what a function is found again, the surest first."""


def check_weakened_assertions(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each granted test that asks for less, and for each new test that asks for nothing."""
    known: set[tuple[str, str]] = set()
    before: list[TestFunction] = []
    after: list[TestFunction] = []
    for file in facts.files:
        if not file.is_python or not is_test_path(file.path):
            continue
        functions = _parse_functions(file.path, file.before)
        known.update((one.path, one.name) for one in functions)
        if facts.is_granted(file.path):
            before += functions
        after += _parse_functions(file.path, file.after)
    successors = _match_functions(before, after)
    removed, rest = [], {id(one): one for one in after}
    for old in before:
        new = successors.get(id(old))
        if new is not None:
            rest.pop(id(new))
            for line, loss in _find_losses(old, new):
                yield build_flag(RuleId.WEAKENED, f"{new.path}:{line} {loss}", new.path, line)
        elif old.is_collected:
            removed.append(old)
    yield from _report_removed(removed)
    yield from _check_new([one for one in rest.values() if (one.path, one.name) not in known], after)


def _parse_functions(path: str, content: bytes | None) -> list[TestFunction]:
    if tree := parse_python(content or b""):
        return list_test_functions(path, tree)
    return []


def _match_functions(before: Sequence[TestFunction], after: Sequence[TestFunction]) -> dict[int, TestFunction]:
    """Return by the `id` of each old function its new one: of the same name there, elsewhere, or of the same body."""
    unmatched = {id(one): one for one in after}
    successors: dict[int, TestFunction] = {}
    for get_identity in _IDENTITIES:
        candidates: dict[Hashable, list[TestFunction]] = {}
        for new in unmatched.values():
            candidates.setdefault(get_identity(new), []).append(new)
        for old in before:
            found = candidates.get(get_identity(old))
            if found and id(old) not in successors:
                new = found.pop()
                successors[id(old)] = new
                del unmatched[id(new)]
    return successors


def _find_losses(old: TestFunction, new: TestFunction) -> Iterator[_Loss]:
    line, name = new.node.lineno, old.last_name
    if old.is_collected and not new.is_collected:
        yield line, f"no runner takes {new.last_name} for a test, as it did {name}"
    for mark in sorted((Counter(new.marks) - Counter(old.marks)).keys()):
        yield line, f"{name} has a new mark: {mark}"
    if old.cases is not None and new.cases is not None and new.cases < old.cases:
        yield line, f"{name} runs for {new.cases} cases, and ran for {old.cases}"
    if old.body_dump != new.body_dump:
        yield from _compare_bodies(old, new)


def _compare_bodies(old: TestFunction, new: TestFunction) -> Iterator[_Loss]:
    line, name = new.node.lineno, old.last_name
    if all(map(_is_empty, new.node.body)):
        yield line, f"{name} is empty now"
        return
    for swallowing in _find_swallowing(new.node)[len(_find_swallowing(old.node)) :]:
        yield swallowing, f"{name} goes on when an assertion fails"
    before, after = list_function_assertions(old.node), list_function_assertions(new.node)
    removed = subtract_known(before, after, _get_identity)
    added = subtract_known(after, before, _get_identity)
    weaker = list(_compare_assertions(removed, added))
    for weak_line, loss in weaker:
        yield weak_line, f"{name} asks for less: {loss}"
    if weaker or old.cases is None or new.cases is None or any(one.is_delegated for one in added):
        return
    old_count, new_count = count_assertions(before), count_assertions(after)
    if new_count * new.cases < old_count * old.cases:
        yield line, f"{name} has assertions: {new_count}, where it had {old_count}"


def _is_empty(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass | ast.Return)


def _compare_assertions(removed: Sequence[Assertion], added: Sequence[Assertion]) -> Iterator[_Loss]:
    """Yield what became weaker, after each removed assertion has found an added one that is as strict."""
    rest, changed = list(added), list[Assertion]()
    for old in sorted(removed, key=lambda one: -one.strength):  # who asks for most has the first choice
        limit = old.tolerance * _ROUNDING
        same = [new for new in rest if new.subjects == old.subjects]
        as_strict = [new for new in same if new.strength >= old.strength and new.tolerance <= limit]
        if as_strict:
            rest.remove(min(as_strict, key=lambda one: one.strength))
        else:
            changed.append(old)
    for old in changed:
        related = _list_related(old, rest)
        if related:
            new = max(related, key=lambda one: (one.strength, -one.tolerance))
            rest.remove(new)
            yield from _compare_pair(old, new)
            continue
        taken = _list_related(old, added)
        if taken and not any(one.is_delegated for one in taken):
            yield taken[0].line, f"`{old.words}` is gone"
    for new in rest:
        if new.strength == AssertionStrength.NOTHING:
            yield new.line, f"`{new.words}` asserts nothing"


def _compare_pair(old: Assertion, new: Assertion) -> Iterator[_Loss]:
    if new.strength < old.strength:
        yield new.line, f"`{old.words}` became `{new.words}`"
    elif new.tolerance > old.tolerance * _ROUNDING:
        yield new.line, f"`{new.words}` may be further off than `{old.words}`"


def _list_related(old: Assertion, candidates: Iterable[Assertion]) -> list[Assertion]:
    return [one for one in candidates if one.is_related_to(old)]


def _find_swallowing(function: FunctionNode) -> list[int]:
    """Return the lines at which a failed assertion is caught and forgotten."""
    return sorted(node.lineno for node in find_nodes(function, ast.stmt) if swallows_assertions(node))


def _report_removed(tests: Sequence[TestFunction]) -> Iterator[Finding]:
    names_by_path: dict[str, list[str]] = {}
    for test in tests:
        names_by_path.setdefault(test.path, []).append(test.last_name)
    for path, names in names_by_path.items():
        text = f"{path}: gone without a successor: {join_limited(names, _MAX_SHOWN)}"
        yield build_flag(RuleId.WEAKENED, text, path)


def _check_new(new: Sequence[TestFunction], known: Sequence[TestFunction]) -> Iterator[Finding]:
    asserting = {one.last_name for one in known if _can_fail(one.node, ())}
    for test in new:
        name = test.last_name
        if test.is_shadowed and name.startswith("test"):
            problem = f"{name} never runs: something else takes its name further down"
        elif test.is_collected and not _can_fail(test.node, asserting):
            problem = f"{name} is new and asserts nothing"
        else:
            continue
        line = test.node.lineno
        yield build_flag(RuleId.WEAKENED, f"{test.path}:{line} {problem}", test.path, line)


def _can_fail(function: FunctionNode, asserting: Collection[str]) -> bool:
    """Return True if it can fail by what it says itself, or by one of the `asserting` functions that it calls."""
    if count_assertions(list_assertions(function.body)) or any(find_nodes(function, ast.Raise)):
        return True
    if any(_ASSERTING_FIXTURES.search(argument.arg) for argument in function.args.args):
        return True
    return any(get_last_name(call) in asserting for call in find_nodes(function, ast.Call))

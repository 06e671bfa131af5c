"""Tests that stand among the product: examples of doctest, tests of Rust, test functions in modules of Python.

They stay as they are on the base, while the rest of their file may change. They may move to another file of the change.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.run.grant import Grant, GrantIntent, format_grant_advice
from orchestrator.judge.files.changed_file import ChangedFile, is_test_path
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.source.doctests import list_doctest_examples
from orchestrator.judge.source.python_syntax import FunctionNode, parse_python
from orchestrator.judge.source.rust_tests import list_test_items

_SHOWN_CHARS = 80
_ADVICE = "leave the tests of the base as they are, and put new ones behind them"


class _InlineTest(NamedTuple):
    """A test in a file: `name` and `text` together are all that it is, `line` is where it begins."""

    name: str
    text: str
    line: int


@dataclass(frozen=True)
class _Kind:
    """A kind of tests among the product: what it is called, and how those of a content are listed."""

    words: str
    list_tests: Callable[[bytes], Sequence[_InlineTest]]


def check_inline_tests(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding for each file that lost a test of the base that stood among its code. Blocks."""
    for file in facts.files:
        if file.before is None or is_test_path(file.path) or facts.is_granted(file.path, GrantIntent.REWRITE):
            continue
        for kind in _list_kinds(file, facts):
            if lost := _find_lost_test(file, kind, facts.files):
                yield _build_finding(file.path, kind, lost)


def _build_finding(path: str, kind: _Kind, lost: _InlineTest) -> Finding:
    shown = lost.text.strip().splitlines()[0][:_SHOWN_CHARS]
    change = f"{path}: {kind.words} of the base was changed or removed (line {lost.line} of the base, `{shown}`)"
    grant = Grant(paths=(path,), may=(GrantIntent.REWRITE,))
    text = f"{change}, which the plan did not grant: {_ADVICE}; or {format_grant_advice(grant)}"
    return Finding(rule=RuleId.INLINE_TEST, text=text, path=path, is_blocking=True, needed_grant=grant)


def _list_kinds(file: ChangedFile, facts: ChangeFacts) -> Iterator[_Kind]:
    if file.path.endswith(".rs"):
        yield _Kind("a test among the code", _list_rust_tests)
    if file.path in facts.doctested_files:
        yield _Kind(
            "an example that the gate runs as a test", _list_python_examples if file.is_python else _list_examples
        )
    if file.path in facts.self_testing_files and file.is_python:
        yield _Kind("a test among the code", _list_test_functions)


def _find_lost_test(file: ChangedFile, kind: _Kind, files: Sequence[ChangedFile]) -> _InlineTest | None:
    """Return the first test of the base that stands neither in the file any more nor in another changed one."""
    kept = Counter[tuple[str, str]]()
    for other in files:
        if other.after is not None and PurePosixPath(other.path).suffix == PurePosixPath(file.path).suffix:
            kept.update((test.name, test.text) for test in kind.list_tests(other.after))
    for test in kind.list_tests(file.before or b""):
        kept[test.name, test.text] -= 1
        if kept[test.name, test.text] < 0:
            return test
    return None


def _list_rust_tests(content: bytes) -> list[_InlineTest]:
    found = []
    for item in list_test_items(content.decode("utf-8", "replace")):
        found.append(_InlineTest(item.text, item.heading, item.line))
    return found


def _list_python_examples(content: bytes) -> list[_InlineTest]:
    return _list_examples(content, is_python=True)


def _list_examples(content: bytes, *, is_python: bool = False) -> list[_InlineTest]:
    """Return the examples, each with those before it in its docstring: they share what they define."""
    found: list[_InlineTest] = []
    known = content.decode("utf-8", "replace")
    before: dict[str, str] = {}
    for one in list_doctest_examples(content, is_python=is_python):
        line = known.count("\n", 0, max(known.find(one.source.splitlines()[0]), 0)) + 1
        text = f"{one.source}{one.want}{one.options or ''}"
        found.append(_InlineTest(f"{one.owner.rpartition('.')[2]}\n{before.get(one.owner, '')}", text, line))
        before[one.owner] = before.get(one.owner, "") + text
    return found


def _list_test_functions(content: bytes) -> list[_InlineTest]:
    tree = parse_python(content)
    found = []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, FunctionNode) and node.name.startswith("test"):
            found.append(_InlineTest(node.name, ast.unparse(node), node.lineno))
    return found

"""The ratchet of suppressions: a change may not silence more of what linters, type checkers and coverage have to say.

Counted over the whole change, so that code can be moved and edited together with what it silences already. Each
language has patterns of its own.
"""

import ast
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.run.grant import Grant, GrantIntent, format_grant_advice
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.files.changed_file import ChangedFile, is_test_path, subtract_known
from orchestrator.judge.files.classification import is_sample
from orchestrator.judge.rules.change_facts import ChangeFacts, build_flag
from orchestrator.judge.source.python_syntax import find_nodes, parse_python, tokenize_python


class SuppressionKind(NamedTuple):
    """One way to silence a tool. A group `only` in the pattern names what is silenced; without it, everything is."""

    name: str
    pattern: re.Pattern[str]


def _build_kinds(**patterns: str) -> tuple[SuppressionKind, ...]:
    return tuple(
        SuppressionKind(name.replace("__", ": ").replace("_", " "), compile_lazily(text, re.IGNORECASE))
        for name, text in patterns.items()
    )


PYTHON_SUPPRESSIONS = _build_kinds(
    noqa=r"#\s*noqa\b(?P<only>\s*:\s*[A-Z])?",
    noqa_for_a_whole_file=r"#\s*(?:flake8[:=]|ruff:)\s*noqa\b(?P<only>\s*:\s*[A-Z])?",
    type__ignore=r"#\s*type:\s*ignore\b(?P<only>\[)?",
    pyright__ignore=r"#\s*pyright:\s*ignore\b(?P<only>\[)?",
    pyright__report=r"#\s*pyright:\s*(?P<only>report\w+)\s*=\s*(?:false|none)",
    ty__ignore=r"#\s*ty:\s*ignore\b(?P<only>\[)?",
    mypy__ignore=r"#\s*mypy:\s*(?:ignore-errors\b|(?P<only>disable-error-code|allow-))",
    pyre__ignore=r"#\s*pyre-(?:ignore|fixme)\b(?P<only>\[)?",
    pylint__disable=r"#\s*pylint:\s*(?:skip-file|disable(?:-next|-line)?\s*=\s*(?:all\b|(?P<only>\w)))",
    pragma__no_cover=r"#\s*pragma:\s*(?P<only>no\s*(?:cover|branch))\b",
    nosec=r"#\s*nosec\b(?P<only>[\s:]+B\d)?",
    nosemgrep=r"#\s*nosemgrep\b(?P<only>:)?",
)
_SCRIPT = _build_kinds(
    eslint_disable=r"(?://|/\*|<!--)\s*eslint-disable(?:-next-line|-line)?\b(?P<only>[ \t]+[@\w])?",
    ts_ignore=r"(?://|/\*)\s*(?P<only>@ts-ignore)\b",
    ts_nocheck=r"(?://|/\*)\s*@ts-nocheck\b",
    ts_expect_error=r"(?://|/\*)\s*(?P<only>@ts-expect-error)\b",
    coverage_ignore=r"(?://|/\*)\s*(?P<only>istanbul|c8|v8)\s+ignore\b",
    biome_ignore=r"(?://|/\*)\s*biome-ignore(?:-all)?\s+(?P<only>lint|assist)",
    tslint__disable=r"(?://|/\*)\s*tslint:disable(?:-next-line|-line)?\b(?P<only>[ \t:]+\w)?",
    FlowFixMe=r"(?://|/\*)\s*(?P<only>\$FlowFixMe)\b",
    stylelint_disable=r"/\*\s*stylelint-disable(?:-next-line|-line)?\b(?P<only>[ \t]+[@\w])?",
)
_GO = _build_kinds(
    nolint=r"//\s*nolint\b(?P<only>:)?",
    lint__ignore=r"//\s*lint:(?:file-)?(?P<only>ignore)\b",
    nosec=r"(?://|/\*)\s*#nosec\b(?P<only>[\s:]+G\d)?",
)
_RUST = _build_kinds(
    allow=r"#!?\[\s*(?:cfg_attr\s*\(.*?,\s*)?(?:allow|expect)\s*\(\s*(?:warnings\b|clippy::all\b|(?P<only>\w))"
)
_JVM = _build_kinds(
    Suppress=r"@(?:file:)?Suppress(?:Warnings|Lint|FBWarnings)?\s*\(\s*(?:\{?\s*\"all\"|(?P<only>\S))",
    NOSONAR=r"//\s*NOSONAR\b",
)
_RUBY = _build_kinds(
    rubocop__disable=r"#\s*rubocop:(?:disable|todo)\s+(?:all\b|(?P<only>\w))", nocov=r"#\s*(?P<only>:nocov:)"
)
_SHELL = _build_kinds(shellcheck_disable=r"#\s*shellcheck\s+(?:.*\s)?disable=(?:all\b|(?P<only>\w))")
_C = _build_kinds(
    NOLINT=r"(?://|/\*)\s*NOLINT(?:NEXTLINE|BEGIN)?\b(?P<only>\()?",
    diagnostic_ignored=r"#\s*pragma\s+(?:GCC|clang)\s+diagnostic\s+(?P<only>ignored)",
    warning_disable=r"#\s*pragma\s+warning\s*\(?\s*disable\b(?P<only>\s*:?\s*\w)?",
    cppcheck_suppress=r"(?://|/\*)\s*(?P<only>cppcheck-suppress)",
    LCOV_EXCL=r"(?://|/\*)\s*(?P<only>LCOV_EXCL_(?:BR_)?(?:LINE|START))",
)
_SHARP = _build_kinds(
    warning_disable=r"#pragma\s+warning\s+disable\b(?P<only>\s+\w)?",
    SuppressMessage=r"\[\s*(?:\w+\s*:\s*)?(?P<only>SuppressMessage)\s*\(",
    ExcludeFromCodeCoverage=r"\[\s*(?:\w+\s*:\s*)?ExcludeFromCodeCoverage\b",
)
_PHP = _build_kinds(
    phpstan_ignore=r"@phpstan-ignore(?:-next-line|-line)?\b(?P<only>\s+\w)?",
    psalm_suppress=r"@psalm-suppress\s+(?P<only>\w)",
    phpcs__ignore=r"(?://|/\*|#)\s*phpcs:(?:ignore|disable)(?:File)?\b(?P<only>\s+\w)?",
    codeCoverageIgnore=r"@(?P<only>codeCoverageIgnore)",
)
_SWIFT = _build_kinds(swiftlint__disable=r"//\s*swiftlint:disable(?::\w+)?\s+(?:all\b|(?P<only>\w))")

_LANGUAGES: Mapping[str, tuple[SuppressionKind, ...]] = {
    suffix: kinds
    for suffixes, kinds in (
        ("py pyi", PYTHON_SUPPRESSIONS),
        ("js jsx ts tsx mjs cjs mts cts vue svelte css scss less", _SCRIPT),
        ("go", _GO),
        ("rs", _RUST),
        ("java kt kts scala groovy", _JVM),
        ("rb rake", _RUBY),
        ("sh bash ksh", _SHELL),
        ("c cc cpp cxx h hh hpp hxx m mm", _C),
        ("cs", _SHARP),
        ("php", _PHP),
        ("swift", _SWIFT),
    )
    for suffix in suffixes.split()
}


def get_suppression_kinds(path: str) -> tuple[SuppressionKind, ...]:
    """Return the ways that the language of a file knows, by the file's name; none if the language is not known."""
    return _LANGUAGES.get(PurePosixPath(path).suffix[1:].lower(), ())


_OF_EVERYTHING = " of everything"
_OF_TYPE_CHECKERS = frozenset({"type: ignore", "pyright: ignore", "ty: ignore", "pyre: ignore"})
_MAX_SHOWN = 10


class _Suppression(NamedTuple):
    """A comment that silences a tool; by `text`, its line without white space, it is known wherever it is moved.

    `kind` ends in ` of everything` if it names nothing in particular. On an import of Python it hides no more than that
    a library has no type stubs, or, in an `__init__.py`, that a name is there for others: `is_on_import`.
    """

    kind: str
    text: str
    path: str
    line: int
    is_on_import: bool = False


_ByKind = dict[str, list[_Suppression]]


def check_suppressions(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding for each kind of suppression of which the change leaves more than there were.

    What a granted file gained is free; what it lost makes up for others only as far as it gained none itself.
    """
    bound, granted = [], []
    for file in facts.files:
        if facts.is_granted(file.path):
            granted.append(file)
        else:
            bound.append(file)
    added, removed = _compare_suppressions(bound)
    gained, lost = _compare_suppressions(granted)
    increase: dict[str, int] = {}
    for kind, found in sorted(added.items()):
        spare = max(0, len(lost.get(kind, ())) - len(gained.get(kind, ())))
        increase[kind] = len(found) - len(removed.get(kind, ())) - spare
    for kind, count in increase.items():
        is_covered = kind.endswith(_OF_EVERYTHING) and increase.get(kind.removesuffix(_OF_EVERYTHING), 0) > 0
        if count > 0 and not is_covered:
            yield _build_finding(kind, added[kind], count)


def _build_finding(kind: str, found: Sequence[_Suppression], increase: int) -> Finding:
    others = [one for one in found if not one.is_on_import]
    if len(found) - len(others) >= increase:
        others = []
    places = join_limited([f"{one.path}:{one.line}" for one in found], _MAX_SHOWN)
    count = f"{increase} more" if increase > 1 else "one more"
    what = f"{places} silences a tool ({count} `{kind}` than on the base)"
    path, line = "", None
    if len(found) == 1:
        path, line = found[0].path, found[0].line
    if not others:
        return build_flag(RuleId.SUPPRESSION, f"{what}, on imports alone", path, line)
    grant = Grant(paths=tuple(dict.fromkeys(one.path for one in others)), may=(GrantIntent.REWRITE,))
    text = f"{what}, which the plan did not grant: mend what it hides; or {format_grant_advice(grant)}"
    return Finding(rule=RuleId.SUPPRESSION, text=text, path=path, line=line, is_blocking=True, needed_grant=grant)


def _compare_suppressions(files: Sequence[ChangedFile]) -> tuple[_ByKind, _ByKind]:
    """Return what these files hold now and did not, and what they held and do not; moved lines are in neither."""
    before: list[_Suppression] = []
    after: list[_Suppression] = []
    for file in files:
        before += _find_suppressions(file.path, file.before)
        after += _find_suppressions(file.path, file.after)
    return _subtract_suppressions(after, before), _subtract_suppressions(before, after)


def _subtract_suppressions(left: Sequence[_Suppression], right: Iterable[_Suppression]) -> _ByKind:
    rest: _ByKind = {}
    for one in subtract_known(left, right, lambda one: (one.kind, one.text)):
        rest.setdefault(one.kind, []).append(one)
    return rest


def _find_suppressions(path: str, content: bytes | None) -> Iterator[_Suppression]:
    """Yield each suppression under its kind, and one of everything under that as well: it takes no other's place."""
    kinds = get_suppression_kinds(path)
    if not content or not kinds or is_sample(path):
        return
    is_python = kinds is PYTHON_SUPPRESSIONS
    imports = _list_import_lines(content, is_python=is_python)
    for number, comment, line in _find_comments(content, kinds, is_python=is_python):
        text = "".join(line.split())
        for kind in kinds:
            if kind.name == "ts expect error" and is_test_path(path):
                continue  # there it is an assertion: it fails where there is no error
            for match in kind.pattern.finditer(comment):
                is_usual = number in imports and _is_usual_on_import(kind.name, path)
                yield _Suppression(kind.name, text, path, number, is_usual)
                if match.groupdict().get("only") is None and "only" in kind.pattern.groupindex:
                    yield _Suppression(kind.name + _OF_EVERYTHING, text, path, number, is_usual)


def _is_usual_on_import(kind: str, path: str) -> bool:
    return kind in _OF_TYPE_CHECKERS or PurePosixPath(path).stem == "__init__"


def _list_import_lines(content: bytes, *, is_python: bool) -> frozenset[int]:
    lines = set[int]()
    if is_python and (tree := parse_python(content)):
        for statement in find_nodes(tree, ast.stmt):
            if isinstance(statement, ast.Import | ast.ImportFrom):
                lines.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return frozenset(lines)


def _find_comments(content: bytes, kinds: Sequence[SuppressionKind], is_python: bool) -> Iterator[tuple[int, str, str]]:
    """Yield line number, comment and whole line where something could be silenced; of Python only real comments."""
    lines = _find_suspects(content.decode("utf-8", "replace"), kinds)
    tokens = tokenize_python(content) if lines and is_python else None
    if tokens is None:
        yield from ((number, line, line) for number, line in lines.items())
        return
    for token in tokens:
        number = token.start[0]
        if token.type == tokenize.COMMENT and number in lines:
            yield number, token.string, lines[number]


def _find_suspects(text: str, kinds: Sequence[SuppressionKind]) -> dict[int, str]:
    """Return the lines that hold a pattern of these kinds, by their numbers."""
    patterns = [kind.pattern for kind in kinds if kind.pattern.search(text)]
    suspects: dict[int, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if any(pattern.search(line) for pattern in patterns):
            suspects[number] = line
    return suspects

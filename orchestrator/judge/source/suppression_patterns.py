"""Patterns of the comments and attributes by which each language silences linters, type checkers and coverage."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from orchestrator.domain.text.lazy_pattern import compile_lazily


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

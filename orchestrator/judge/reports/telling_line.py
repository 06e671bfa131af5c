"""The one line of a command's output that says most about why it failed, by the kind of tool that printed it."""

import re
from collections.abc import Sequence
from enum import StrEnum

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports.parsed_report import remove_styling

_LINE_CHARS = 300
_NODE = compile_lazily(r"Node\.js v\d|\s+at .*\((?:node:)?internal/")
_PYTHON = compile_lazily(r'Traceback \(most recent call last\):|\s*File "[^"]+", line \d+')
_EXCEPTION = compile_lazily(r"(?:Uncaught )?[A-Za-z_$][\w.$]*(?:Error|Exception|Exit|Interrupt|Warning)\b.*")
_UNINDENTED = compile_lazily(r"[A-Za-z_][\w.]*(?::|\s*\Z)")
_LINT_FINDING = compile_lazily(
    r"""(?:
        \S[^:]*:\d+(?::\d+)?:\s\S.*                  # ruff, flake8, mypy, gcc: path:line:column: what
      | [A-Z]{1,4}\d{2,4}\s.*                        # ruff's long form: F401 what, then the place
      | \S+\(\d+,\d+\):\serror\s.*                   # tsc
      | \s+\d+:\d+\s+error\s.*                       # eslint, below the path
    )""",
    re.VERBOSE,
)
_ERROR = compile_lazily(
    r"\W{0,20}+(?:[^\s:]*+:++\s*+)*\W{0,20}+(?:(?:fatal |internal )?error|ERR|fatal|panic)\b(?!s)", re.IGNORECASE
)
"""A line that begins with the word, perhaps behind a program's name or a place: `x.js: error`, `[error]`, `✖ ERR`.

Each part can be read in one way only: a line of many colons would else take hours.
"""
_FAILURE = compile_lazily(
    r".*(?:\b(?:error|exception|fatal|panicked|invalid|unexpected|cannot|unable to|could not|denied)\b|can't|No such)",
    re.IGNORECASE,
)
_COUNT = compile_lazily(r"\W*(?:\w+\s+)?\d+\s+(?:errors?|problems?|files?)\b|.*\b(?:no|0) errors?\b", re.IGNORECASE)
"""Sums at the end of an output: they say how many, not what."""


class OutputKind(StrEnum):
    """The kind of tool that printed an output."""

    NODE = "node"
    PYTHON = "python"
    LINTER = "linter"
    OTHER = "other"


def detect_output_kind(output: str) -> OutputKind:
    """Return the kind of tool that printed the output: by marks that only tools of this kind leave."""
    lines = _read_lines(output)
    if any(map(_NODE.match, lines)):
        return OutputKind.NODE
    if any(map(_PYTHON.match, lines)):
        return OutputKind.PYTHON
    if any(map(_LINT_FINDING.fullmatch, lines)):
        return OutputKind.LINTER
    return OutputKind.OTHER


def find_telling_line(output: str) -> str:
    """Return the line that says most about a failure, stripped, in at most 300 characters.

    Empty if nothing was printed.

    Of node it is the error above the stack, of Python the exception below the last traceback, of linters and
    type checkers the first finding, of anything else the first line that says it is an error, else the first one that
    speaks of a failure, else the last line.
    """
    lines = _read_lines(output)
    found = ""
    match detect_output_kind(output):
        case OutputKind.NODE:
            found = next(filter(_EXCEPTION.match, lines), "")
        case OutputKind.PYTHON:
            found = _find_exception(lines)
        case OutputKind.LINTER:
            found = next(filter(_LINT_FINDING.fullmatch, lines), "")
        case OutputKind.OTHER:
            found = _find_failure(lines)
    return (found or (lines or [""])[-1]).strip()[:_LINE_CHARS]


def _find_failure(lines: Sequence[str]) -> str:
    """Return the first line that begins as an error does, else the first one that speaks of a failure."""
    candidates = [line for line in lines if not _COUNT.match(line)]
    return next(filter(_ERROR.match, candidates), "") or next(filter(_FAILURE.match, candidates), "")


def _find_exception(lines: Sequence[str]) -> str:
    """Return the first line with an exception's name after the last line of the last traceback.

    Of a message that begins on the next line, that line is added.
    """
    places = [number for number, line in enumerate(lines) if _PYTHON.match(line)]
    below = lines[places[-1] + 1 :]
    for number, line in enumerate(below):
        if _EXCEPTION.match(line):
            if line.endswith(":"):
                return " ".join([line, *map(str.strip, below[number + 1 : number + 2])])
            return line
    return next(filter(_UNINDENTED.match, below), "")


def _read_lines(output: str) -> list[str]:
    """Return the lines that are not blank, without colours."""
    return list(filter(None, map(str.rstrip, map(remove_styling, output.splitlines()))))

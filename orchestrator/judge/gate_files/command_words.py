"""The words of shell commands, read for the files that they may name: generous, since too many words cost nothing."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import PurePosixPath

from orchestrator.domain.text.lazy_pattern import compile_lazily

_OPERATORS = frozenset(";&|()<>\n")
_VARIABLE = compile_lazily(r"\$\{[^}]*\}|\{\{[^}]*\}\}|\{[^{}]*\}|\$[A-Za-z_]\w*|\$[@*#?0-9$!-]")
_ASSIGNED = compile_lazily(r"-{0,2}[A-Za-z_][\w.-]*=")
_MOST_DEPTH = 4
_MOST_CHARS = 200_000


def iterate_simple_commands(text: str, depth: int = 0) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command in a shell text, one command after the other.

    A quoted text with blanks in it, such as that of `sh -c`, is a command line as well.
    """
    for words in _split_commands(text[:_MOST_CHARS].replace("\\\n", " ")):
        yield words
        if depth < _MOST_DEPTH:
            for word in words:
                if any(char.isspace() or char in _OPERATORS for char in word):
                    yield from iterate_simple_commands(word, depth + 1)


def iterate_written_paths(word: str) -> Iterator[str]:
    """Yield what of a word may be a path: all of it, or an option's value, without variables in front and test ids."""
    bare = _ASSIGNED.sub("", word, count=1)
    for text in dict.fromkeys((word, bare)):
        path = _VARIABLE.sub("", text).partition("::")[0].strip("`").lstrip("/@")
        if path and not path.startswith("-"):
            yield path


def join_path(folder: str, path: str) -> str | None:
    """Return a path of the repository as seen from a folder in it; None if that lies outside."""
    parts: list[str] = []
    for part in PurePosixPath(folder, path).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def list_program_names(words: Sequence[str]) -> tuple[str, ...]:
    """Return the last part of each word: of those before a file, one is the program that reads or runs it."""
    return tuple(word.rpartition("/")[2] for word in words)


def _split_commands(text: str) -> Iterator[tuple[str, ...]]:
    for line in text.split("\n"):
        for is_operator, words in groupby(_split_line(line), lambda word: word != "" and set(word) <= _OPERATORS):
            if not is_operator:
                yield tuple(words)


def _split_line(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        return list(lexer)
    except ValueError:  # a quote that goes on over lines
        return re.findall(r"[^\s;&|()<>\"'`]+|[;&|()<>]+", line)

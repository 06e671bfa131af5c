"""The command lines of a file that a command names, and the words of shell commands that may name files.

Rules of make and just, scripts of npm, tox and plain scripts are read. Generous: too many words cost nothing.
"""

import configparser
import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, product
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


_MAKE = frozenset({"makefile", "gnumakefile", "justfile", ".justfile"})
_RULE = compile_lazily(r"^(?P<names>[^\s#:=][^:=]*?)\s*:{1,2}(?!=)(?P<needs>[^;]*);?(?P<inline>.*)$")
_AGAIN = compile_lazily(r"\$[({]MAKE[)}]|\b(?:make|just)\b")
_SHELL = frozenset({".sh", ".bash", ".zsh", ".ksh"})
_SHELL_LINE = compile_lazily(r"^#!.*\b(?:ba|da|z|k)?sh\b")
_QUOTED = compile_lazily(r"""(["'`])((?:(?!\1)[^\\\n]){3,400})\1""")
_HOOKED = ("pre", "", "post")


def iterate_command_lines(path: str, text: str, words: Collection[str]) -> Iterator[str]:
    """Yield the command lines of a file that a command with these words may run, and in other code its quoted texts."""
    name = PurePosixPath(path).name.casefold()
    suffix = PurePosixPath(name).suffix
    if name in _MAKE or suffix in {".mk", ".just"}:
        yield from _read_make_lines(text, words)
    elif name == "package.json":
        yield from _read_npm_lines(text, words)
    elif name == "tox.ini":
        yield from _read_tox_lines(text)
    elif suffix in _SHELL or _SHELL_LINE.match(text):
        yield text
    else:
        for found in _QUOTED.finditer(text):
            yield found[2]


@dataclass
class _Rules:
    """The content of a makefile: lines that always count, and of each target what it needs and runs."""

    always: list[str] = field(default_factory=list)
    needs: dict[str, list[str]] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)


def _read_make_lines(text: str, words: Collection[str]) -> Iterator[str]:
    rules = _read_rules(text)
    yield from rules.always
    plain, patterns = [], []
    for name in rules.needs:
        if "%" in name:
            patterns.append(name)
        elif not name.startswith("."):
            plain.append(name)
    named = list(filter(words.__contains__, plain))
    waiting, seen = [*(named or plain[:1]), *patterns], set[str]()
    while waiting:
        target = waiting.pop()
        if target in seen or target not in rules.needs:
            continue
        seen.add(target)
        waiting += rules.needs[target]
        for line in rules.lines[target]:
            yield line.lstrip("@-+ ")
            if _AGAIN.search(line):
                waiting += re.split(r"[\s;&|]+", line)


def _read_rules(text: str) -> _Rules:
    rules, current = _Rules(), list[str]()
    for line in text.replace("\\\n", " ").splitlines():
        if line[:1] in {"\t", " "}:
            for name in current:
                rules.lines[name].append(line.strip())
            if not current:
                rules.always.append(line.strip())
        elif found := _RULE.match(line):
            current = found["names"].split()
            for name in current:
                rules.needs.setdefault(name, []).extend(found["needs"].split())
                rules.lines.setdefault(name, []).append(found["inline"])
        elif line.strip():
            current = []
            rules.always.append(line)
    return rules


def _read_npm_lines(text: str, words: Collection[str]) -> Iterator[str]:
    scripts = _read_npm_scripts(text)
    waiting, seen = list(_list_hooked(words)), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen and isinstance(line := scripts.get(name), str):
            yield line
            waiting += _list_hooked(re.split(r"[\s;&|:\"']+", line))
            waiting += line.split()
        seen.add(name)


def _list_hooked(names: Iterable[str]) -> Iterator[str]:
    return map("".join, product(_HOOKED, names))


def _read_npm_scripts(text: str) -> Mapping[str, object]:
    try:
        scripts = json.loads(text)["scripts"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return {}
    return scripts if isinstance(scripts, dict) else {}


def _read_tox_lines(text: str) -> Iterator[str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for name in parser.sections():
        for key, value in parser.items(name):
            if key.startswith("commands"):
                yield value

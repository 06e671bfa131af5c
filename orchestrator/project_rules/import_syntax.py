"""Imports in files of rules: `@path/to/file` outside of code. Pure: nothing is read here."""

import posixpath
from collections.abc import Iterator

from orchestrator.domain.text.lazy_pattern import compile_lazily

_FENCE = compile_lazily(r" {0,3}(`{3,}|~{3,})(.*)")
_CODE_SPAN = compile_lazily(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
_IMPORT = compile_lazily(r"(?<![^\s(])@((?:\\ |[^\s`])+)")
_LIST_ITEM = compile_lazily(r" {0,3}(?:[-*+]|\d{1,9}[.)])\s")
_MAX_LINE_CHARS = 2_000
"""A longer line is nobody's prose, and is not searched."""
_AFTER_WORDS = ".,;:!?)'\"*"
"""Signs that end a sentence around a path, and are no part of it."""


def find_imports(text: str) -> tuple[str, ...]:
    """Return the paths that a text imports, as they are written there, each once."""
    found: dict[str, None] = {}
    for line in _iterate_prose_lines(text):
        for target in _IMPORT.findall(_CODE_SPAN.sub("", line)):
            path = target.replace("\\ ", " ").rstrip(_AFTER_WORDS)
            if path:
                found[path] = None
    return tuple(found)


def has_only_imports(text: str) -> bool:
    """Return True if a text says nothing beside what it imports."""
    for line in text.splitlines():
        words = line.replace("\\ ", "").split()
        if words and not all(word.startswith("@") and len(word) > 1 for word in words):
            return False
    return True


def resolve_import(file: str, target: str) -> str | None:
    """Return the path in the repository that a file imports; None if it lies outside."""
    if target.startswith(("/", "~")) or "\\" in target or "\0" in target:
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
    if path == ".." or path.startswith("../"):
        return None
    return path


def looks_like_file(target: str) -> bool:
    """Return True if a path was surely meant as one: `@ada` is somebody's name, and `@types/node` a package's."""
    return target.startswith(("/", "~", "./", "../")) or "." in posixpath.basename(target)


def _iterate_prose_lines(text: str) -> Iterator[str]:
    """Yield the lines that stand in no block of code, fenced or indented; in a list an indented line is none."""
    fence, in_list = "", False
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif not fence and len(line) <= _MAX_LINE_CHARS:
            is_indented = line.startswith(("    ", "\t"))
            if line.strip() and not is_indented:
                in_list = _LIST_ITEM.match(line) is not None
            if in_list or not is_indented:
                yield line

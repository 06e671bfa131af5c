"""Source without its comments, docstrings and hidden characters, line for line, for a reviewer who shall see code only.

What is taken for a comment is hidden from that reviewer, so where a file leaves any doubt it is not stripped at all.
"""

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.source.comment_spans import find_comment_syntax, find_comments
from orchestrator.judge.source.hidden_text import remove_hidden_text
from orchestrator.judge.source.python_syntax import parse_python, tokenize_python

_MOST_CHARS = 400_000
_PYTHON = (".py", ".pyi")
_OTHER_ENDS = compile_lazily("[\x85\u2028\u2029]")
"""What ends a line in some languages, and with it a comment, and in others does not."""
_METADATA = compile_lazily(r"^# /// \w", re.MULTILINE)
"""A comment that tools read: what a script needs to have installed."""


def strip_comments(path: str, content: bytes) -> tuple[str, ...] | None:
    """Return a file's lines, each in its place, without what only speaks to readers; None if nobody can tell.

    Blocks while Python is parsed.
    """
    text = _decode_text(content)
    if text is None:
        return None
    if path.endswith(_PYTHON):
        spans = _find_python_spans(text)
    else:
        spans = _find_other_spans(path, text)
    if spans is None:
        return None
    if text.startswith("#!"):
        spans = [span for span in spans if span[0] > 0]  # it says what runs the file
    return tuple(remove_hidden_text(line).rstrip() for line in _remove_spans(text, spans).split("\n"))


def _decode_text(content: bytes) -> str | None:
    """As text in UTF-8; None where bytes or ends of lines could mean something else."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return None
    text = text.replace("\r\n", "\n")
    is_plain = encoding in {"utf-8", "utf-8-sig"} and "\r" not in text
    return text if is_plain and len(text) <= _MOST_CHARS else None


def _find_other_spans(path: str, text: str) -> list[tuple[int, int]] | None:
    syntax = find_comment_syntax(path)
    if syntax is None or _OTHER_ENDS.search(text):
        return None
    return find_comments(text, syntax)


def _find_python_spans(text: str) -> list[tuple[int, int]] | None:
    source = text.encode()
    tree, read = parse_python(source), tokenize_python(source)
    if tree is None or read is None or _METADATA.search(text):
        return None
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return sorted([*_find_python_comments(read, starts), *_find_bare_strings(tree, lines, starts)])


def _find_python_comments(read: Iterable[tokenize.TokenInfo], starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    for token in read:
        if token.type == tokenize.COMMENT:
            (line, column), length = token.start, len(token.string)
            yield starts[line - 1] + column, starts[line - 1] + column + length


def _find_bare_strings(tree: ast.Module, lines: Sequence[str], starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield strings that stand for themselves, which do nothing: docstrings are the usual ones."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), end_lineno=int(last), end_col_offset=int(end)):
                first = node.lineno - 1
                yield (
                    starts[first] + _count_characters(lines[first], node.col_offset),
                    starts[last - 1] + _count_characters(lines[last - 1], end),
                )


def _count_characters(line: str, offset: int) -> int:
    """Return how many characters the first bytes of a line are."""
    return len(line.encode()[:offset].decode())


def _remove_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return the text without the spans, but with every end of a line in them."""
    ends = [at for at, character in enumerate(text) if character == "\n"]
    kept, at = [], 0
    for start, end in spans:
        if start < at:
            continue  # a comment inside of a string that is left out already
        kept.append(text[at:start] + "\n" * (bisect_right(ends, end - 1) - bisect_right(ends, start - 1)))
        at = end
    return "".join((*kept, text[at:]))

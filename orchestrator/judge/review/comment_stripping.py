"""Source without its comments, docstrings and hidden characters, line for line, for a reviewer who shall see code only.

What is taken for a comment is hidden from that reviewer, so where a file leaves any doubt it is not stripped at all.
Languages other than Python are read without parsing.
"""

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.source.python_syntax import parse_python, tokenize_python
from orchestrator.judge.source.reviewer_addresses import remove_hidden_text

_NEVER = compile_lazily(r"(?!)")


@dataclass(frozen=True)
class CommentSyntax:
    """The ways in which a family of languages writes comments and strings.

    Attributes:
        line: what begins a comment that ends with its line.
        block: what begins and ends one that may be longer.
        quotes: what strings stand in; in those of `raw` a backslash is one, those of `long` may hold ends of lines.
        unsure: what, earlier on its line and outside of strings, makes a comment doubtful.
        unsure_string: what, earlier on its line and outside of strings, makes a string doubtful.
        nesting: what in a string may hold strings itself.
        ambiguous: what makes a whole file doubtful.
        needs_space: whether a comment stands at the beginning of a line or after a space only.
    """

    line: str = ""
    block: tuple[str, str] | None = None
    quotes: str = "\"'"
    raw: str = ""
    long: str = ""
    unsure: re.Pattern[str] = _NEVER
    unsure_string: re.Pattern[str] = _NEVER
    nesting: re.Pattern[str] = _NEVER
    ambiguous: re.Pattern[str] = _NEVER
    needs_space: bool = False


_SLASH = compile_lazily(r"/")
_LONG_QUOTES = compile_lazily(r"\"{3}|'{3}")
_C = CommentSyntax(
    *("//", ("/*", "*/")),
    unsure=_SLASH,
    # trigraphs, a comment's mark or its line that goes on below, and names of headers, which may hold such marks
    ambiguous=compile_lazily(r"\"{3}|\?\?/|[/*][^\n]*\\[ \t]*\n|include\s*\(?\s*<[^>\n]*/[/*]"),
)
_JAVA = CommentSyntax(
    "//", ("/*", "*/"), unsure=_SLASH, ambiguous=compile_lazily(r"\"{3}|\\u")
)  # an escape may end a line
_C_SHARP = CommentSyntax(
    "//", ("/*", "*/"), unsure=_SLASH, ambiguous=compile_lazily(r"\"{3}|^[ \t]*#[ \t]*if", re.MULTILINE)
)
_SCRIPT = CommentSyntax(
    *("//", ("/*", "*/"), "\"'`"),
    long="`",
    unsure=_SLASH,
    unsure_string=_SLASH,  # it may begin a regular expression, which may hold anything
    nesting=compile_lazily(r"\$\{(?![\w.\[\]() ]*\})"),
    ambiguous=compile_lazily(r"\A#!|<!--|-->|</|/>"),  # JSX holds plain text, HTML's comments end with their line
)
_GO = CommentSyntax(
    *("//", ("/*", "*/"), "\"'`"),
    raw="`",
    long="`",
    unsure=_SLASH,
    ambiguous=compile_lazily(r"//go:|//export |[\"`]C[\"`]"),  # comments that the compiler obeys, or hands to that of C
)
_SHELL = CommentSyntax(
    "#",
    raw="'",
    unsure=compile_lazily(r"[\\`({]"),
    nesting=compile_lazily(r"`|\$[({]"),
    ambiguous=compile_lazily(r"<<|\\\n#"),
    needs_space=True,
)
_YAML = CommentSyntax(
    "#", raw="'", ambiguous=compile_lazily(r"[|>][-+0-9]*[ \t]*(?:#.*)?$", re.MULTILINE), needs_space=True
)
_BY_SUFFIX = {
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".hpp"), _C),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx"), _SCRIPT),
    **dict.fromkeys((".sh", ".bash"), _SHELL),
    **dict.fromkeys((".yml", ".yaml"), _YAML),
    ".java": _JAVA,
    ".cs": _C_SHARP,
    ".go": _GO,
    ".toml": CommentSyntax("#", raw="'", ambiguous=_LONG_QUOTES),
}
"""Languages whose strings may hold code with strings of its own, or quotes that begin none, are not among them."""


def find_comment_syntax(path: str) -> CommentSyntax | None:
    """Return how comments are written in a file, by its name; None if nobody knows."""
    return _BY_SUFFIX.get(PurePosixPath(path).suffix)


def find_comments(text: str, syntax: CommentSyntax) -> list[tuple[int, int]] | None:
    """Return the spans of a text's comments; None if something in it could be read in more than one way."""
    if syntax.ambiguous.search(text):
        return None
    spans: list[tuple[int, int]] = []
    at, before = 0, ""  # `before`: what stands on the line so far, outside of strings and comments
    while at < len(text):
        if text[at] in syntax.quotes:
            is_prefixed = text[at - 1 : at].isalnum() or text[at - 1 : at] in {"_", "@", "#", "$"}
            is_unsure = is_prefixed or syntax.unsure_string.search(before)
            end = None if is_unsure else _find_string_end(text, at, syntax)
        elif _begins_comment(text, at, syntax):
            end = None if syntax.unsure.search(before) else _find_comment_end(text, at, syntax)
            spans.append((at, end or at))
        else:
            before = "" if text[at] == "\n" else before + text[at]
            end = at + 1
        if end is None:
            return None
        at = end
    return spans


def _begins_comment(text: str, at: int, syntax: CommentSyntax) -> bool:
    if syntax.block and text.startswith(syntax.block[0], at):
        return True
    is_free = not syntax.needs_space or at == 0 or text[at - 1].isspace()
    return bool(syntax.line) and text.startswith(syntax.line, at) and is_free


def _find_comment_end(text: str, at: int, syntax: CommentSyntax) -> int | None:
    if syntax.block and text.startswith(syntax.block[0], at):
        end = text.find(syntax.block[1], at + len(syntax.block[0]))
        return None if end < 0 else end + len(syntax.block[1])
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _find_string_end(text: str, at: int, syntax: CommentSyntax) -> int | None:
    """Return the end of a string; None if it does not end on its line as it has to, or holds code with strings."""
    quote, start = text[at], at
    at += 1
    while at < len(text):
        if text[at] == "\\" and quote not in syntax.raw:
            at += 2
        elif text[at] == quote:
            return None if syntax.nesting.search(text, start, at) else at + 1
        elif text[at] == "\n" and quote not in syntax.long:
            return None
        else:
            at += 1
    return None


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

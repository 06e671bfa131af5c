"""A shell's command line taken apart into simple commands: roughly, without running or expanding anything."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.domain.text.lazy_pattern import compile_lazily

_TOKEN = compile_lazily(
    r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.|\|\|?|&&|(?<![<>])&(?!>)|;|\n|\$\(|`|[()]|[^'\"\\|&;\n$`()]+|.", re.DOTALL
)
_BETWEEN = frozenset({"|", "||", "&&", "&", ";", "\n", "$(", "`", "(", ")"})
_INNER = compile_lazily(r"\$\(([^()]*)\)|`([^`]*)`")
_DOCUMENT = compile_lazily(r"(?m)^([^\n]*)<<-?\s*[\"']?(\w+)[\"']?([^\n]*)\n(.*?)\n\s*\2\s*$", re.DOTALL)
_ASSIGNMENT = compile_lazily(r"[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|\S*)\s*")
_WRAPPER = compile_lazily(
    r"(?:time|nohup|exec|command|builtin|nice|setsid|xargs|then|do|else|if|while|until|!|\{)\s+|timeout\s+\S+\s+"
)
_ENV_OPTION = compile_lazily(r"(?:-[iv0]+|-u\s*\S+|--\S+)(?:\s+|$)")
_PROGRAM = compile_lazily(r"[\"']?(?:[\w./~${}-]*/)?([\w.+-]+)[\"']?(.*)", re.DOTALL)
_SHELL = compile_lazily(r"\s+(?:-\w+\s+)*-\w*c\s+('[^']*'|\"(?:[^\"\\]|\\.)*\")")
_QUOTED = compile_lazily(r"\s*((?:-[\w-]+(?:=\S+)?\s+)*)('[^']*'|\"(?:[^\"\\]|\\.)*\"|\S+)")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_SEEKERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk"})
_TALKERS = frozenset({"echo", "printf"})
_DEEPEST = 4


class SimpleCommand(NamedTuple):
    """One program with its arguments. `reaches` is what of it can name files: no words to print or to find."""

    program: str
    rest: str
    text: str
    reaches: str


def split_shell_commands(line: str, depth: int = 0) -> Iterator[SimpleCommand]:
    """Yield the simple commands of a command line, those in substitutions and in `sh -c` too, in no exact order.

    What a here-document puts into a file is text and no command.
    """
    for piece in _split_pieces(_DOCUMENT.sub(_inline_document, line)):
        yield from _parse_piece(piece, depth)


def _inline_document(match: re.Match[str]) -> str:
    """Return a here-document as part of the line it is given to, if that line runs it."""
    first, _, more, body = match.groups()
    is_text = re.match(r"\s*(?:cat|tee)\b", first) is not None
    if is_text:
        return f"{first}{more}"
    return f"{first}{more} '{body.replace(chr(39), chr(34))}'"


def _split_pieces(line: str) -> Iterator[str]:
    piece: list[str] = []
    for token in _TOKEN.findall(line):
        if token in _BETWEEN:
            yield "".join(piece)
            piece = []
        else:
            piece.append(token)
            if token.startswith('"'):
                for inner in _INNER.findall(token):
                    yield "".join(inner)
    yield "".join(piece)


def _parse_piece(piece: str, depth: int) -> Iterator[SimpleCommand]:
    text = piece.strip()
    rest = _unwrap_command(text)
    match = _PROGRAM.match(rest)
    if match is None:
        if text:
            yield SimpleCommand("", "", text, text)
        return
    program, arguments = match[1], match[2]
    if program == "env" and (inner := _find_env_command(arguments)):
        yield from _parse_piece(inner, depth)
        return
    if program in _SHELLS and depth < _DEEPEST and (script := _SHELL.search(arguments)):
        yield from split_shell_commands(script[1][1:-1], depth + 1)
    yield SimpleCommand(program, arguments, text, _select_reach(program, arguments))


def _unwrap_command(text: str) -> str:
    while match := _ASSIGNMENT.match(text) or _WRAPPER.match(text):
        text = text[match.end() :]
    return text


def _find_env_command(arguments: str) -> str:
    """Return the command that `env` is to run; empty if it only prints."""
    arguments = arguments.strip()
    while match := _ENV_OPTION.match(arguments) or _ASSIGNMENT.match(arguments):
        arguments = arguments[match.end() :]
    return "" if arguments.startswith((">", "<", "2>")) else arguments


def _select_reach(program: str, arguments: str) -> str:
    if program in _TALKERS:
        start = arguments.find(">")
        return arguments[start:] if start >= 0 else ""
    if program in _SEEKERS and (match := _QUOTED.match(arguments)):
        return arguments[match.end() :]
    return f"{program} {arguments}"

"""Paths on command lines: quoted, never taken for an option, in pieces that fit."""

import shlex
from collections.abc import Iterable, Iterator, Sequence

_ARGUMENT_BYTES = 60_000


def escape_option_path(path: str) -> str:
    """Return the path in a form that no command takes for an option."""
    return f"./{path}" if path.startswith("-") else path


def quote_paths(paths: Iterable[str]) -> str:
    """Return the paths as words of a shell's command line."""
    return " ".join(shlex.quote(escape_option_path(path)) for path in paths)


def fill_in_files(line: str, paths: Iterable[str]) -> str:
    """Return a recipe's command line with the paths in place of `{files}`."""
    return line.replace("{files}", quote_paths(paths))


def split_for_command_line(files: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the files in pieces that fit on a command line."""
    piece: list[str] = []
    size = 0
    for path in files:
        size += _measure_argument(path)
        if piece and size > _ARGUMENT_BYTES:
            yield piece
            piece, size = [], _measure_argument(path)
        piece.append(path)
    if piece:
        yield piece


def _measure_argument(path: str) -> int:
    """Return the bytes of a path in quotes, which may hold bytes that are no UTF-8."""
    return len(path.encode("utf-8", "surrogateescape")) + 3

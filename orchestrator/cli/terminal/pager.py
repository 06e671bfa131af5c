"""Print lines on standard output; on a terminal, lines that do not fit on the screen go to a pager."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, cast

import click

from orchestrator.cli.terminal.choices import may_use_pager, wants_colour
from worktrees.errors import GitError
from worktrees.repositories.discovery import find_checkout

_PROMPT_LINES = 2
_NO_PAGER = "cat"


def print_pages(lines: Iterable[str]) -> None:
    """Print lines that hold no control characters but our own colours."""
    command, is_coloured = _choose_pager(), wants_colour(sys.stdout)
    if not command:
        for line in lines:
            click.echo(line, color=is_coloured)
        return
    size, kept, rows = shutil.get_terminal_size(), [], 0
    rest = iter(lines)
    for line in rest:
        kept.append(line)
        for part in line.split("\n"):
            rows += max(1, -(-len(click.unstyle(part)) // size.columns))
        if rows > size.lines - _PROMPT_LINES:
            _run_pager(command, kept, rest)
            return
    click.echo("\n".join(kept), color=is_coloured)


def _choose_pager() -> list[str]:
    """Return the words of the pager's command; none if the output is to go straight to standard output."""
    if not may_use_pager() or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return []
    return find_pager(os.environ, Path.cwd())


def find_pager(environ: Mapping[str, str], place: Path) -> list[str]:
    """Return the words of the user's pager, or of `less`; none if there is no such program.

    Programs of the repository that `place` lies in are no pagers, whatever PATH says.
    """
    words = ["less", "-FRX"]
    for name in ("PAGER", "ORCHESTRATE_PAGER"):  # the later one counts
        if name in environ:
            with suppress(ValueError):  # a quotation is not closed
                words = shlex.split(environ[name])
    if not words or words == [_NO_PAGER]:
        return []
    directories = filter(Path.is_absolute, map(Path, environ.get("PATH", os.defpath).split(os.pathsep)))
    root = _find_root(place)
    outside = [str(path) for path in directories if root is None or not path.is_relative_to(root)]
    program = shutil.which(words[0], path=os.pathsep.join(outside)) if outside else None
    if program is None or not Path(program).is_absolute():
        return []
    return [program, *words[1:]]


def _find_root(place: Path) -> Path | None:
    try:
        return find_checkout(place).root
    except GitError:
        return None


def _run_pager(command: list[str], first: Iterable[str], rest: Iterator[str]) -> None:
    """Feed a pager with lines, and wait until the user leaves it."""
    environ = {"LESS": "FRX", "LV": "-c", **os.environ}
    is_coloured = wants_colour(sys.stdout)
    sys.stdout.flush()
    with (
        _interrupts_left_to_pager(),
        subprocess.Popen(command, stdin=subprocess.PIPE, env=environ, encoding="utf-8", errors="replace") as pager,
        suppress(BrokenPipeError),  # the user has seen enough
        cast("IO[str]", pager.stdin) as stream,
    ):
        for line in chain(first, rest):
            stream.write(f"{line if is_coloured else click.unstyle(line)}\n")


@contextmanager
def _interrupts_left_to_pager() -> Iterator[None]:
    """Leave Ctrl-C to the pager, which ends a search with it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

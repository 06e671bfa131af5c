"""Colour lines for a terminal: states, headings and diffs. Colours only help; every word stands without them too."""

import re
from collections.abc import Iterable, Iterator, Mapping

import click

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import strip_controls

_GREEN = ("done", "merged")
_YELLOW = ("asks you", "paused", "stopped", "partial", "waiting", "landing", "queued")
_RED = ("rejected", "blocked", "unfinished", "failed", "needs-human")
_BLUE = ("running", "at work", "testing", "review", "planning", "judging")
_GREY = ("to do", "planned", "cancelled", "split", "nothing-changed", "skipped", "rolled back")
STATE_COLOURS: Mapping[str, str] = {
    **dict.fromkeys(_GREEN, "green"),
    **dict.fromkeys(_YELLOW, "yellow"),
    **dict.fromkeys(_RED, "red"),
    **dict.fromkeys(_BLUE, "cyan"),
    **dict.fromkeys(_GREY, "bright_black"),
}
"""The colours of the words for states of runs, tasks and files."""
_STATES = "|".join(sorted(STATE_COLOURS, key=len, reverse=True))
_STATE_IN_HEAD = compile_lazily(rf"(\S+  )({_STATES})(?=[ ,]|\Z)")
_STATE_IN_TREE = compile_lazily(rf"([│├└─ ]+)({_STATES})(?=[ ,]|\Z)")
_MARK = compile_lazily(r"( *)([✓✗])(?= )")
_MARK_COLOURS = {"✓": "green", "✗": "red"}
_HEADING = compile_lazily(r"(attempt \d|receipt |  rests on receipt |  environment |  \| |  again: |    rests on )")
_LOG_HEAD = compile_lazily(r"\d\d:\d\d:\d\d  (?:(?=.{20}  \S)\S+ +)?")


def paint_status(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a status with the state of the run and of each task coloured, and the outcome in bold."""
    for number, line in enumerate(_split_lines(lines)):
        if number == 0:
            yield _STATE_IN_HEAD.sub(_paint_state, line, count=1)
        elif number == 1:
            yield click.style(line, bold=True)
        else:
            yield _paint_start(line)


def paint_details(lines: Iterable[str]) -> Iterator[str]:
    """Yield what `show` says with the state coloured, the outcome in bold, and headings and outputs dimmed."""
    for number, line in enumerate(_split_lines(lines)):
        if number == 0:
            yield _STATE_IN_HEAD.sub(_paint_state, line, count=1)
        elif number == 1:
            yield click.style(line, bold=True)
        elif _HEADING.match(line):
            yield click.style(line, dim=True)
        else:
            yield _paint_start(line)


def paint_log_line(line: str) -> str:
    """Return a line of `logs` with its time and task dimmed."""
    head = _LOG_HEAD.match(line)
    if head is None:
        return line
    return click.style(head[0], dim=True) + line[head.end() :]


def paint_diff(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a diff with heads in bold, places in cyan, and what is added and removed in green and red."""
    is_in_hunk = False
    for line in lines:
        if line.startswith("diff "):
            is_in_hunk = False
        if line.startswith("@@"):
            is_in_hunk = True
            yield click.style(line, fg="cyan")
        elif not is_in_hunk:
            yield click.style(line, bold=True)
        elif line.startswith("+"):
            yield click.style(line, fg="green")
        elif line.startswith("-"):
            yield click.style(line, fg="red")
        else:
            yield line


def _split_lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield single lines without control characters: a pager forgets a colour at the end of each."""
    for text in texts:
        yield from strip_controls(text).split("\n")


def _paint_start(line: str) -> str:
    """Return a line with the state or the mark that it begins with coloured."""
    painted = _STATE_IN_TREE.match(line)
    if painted:
        return _paint_state(painted) + line[painted.end() :]
    mark = _MARK.match(line)
    if mark:
        return mark[1] + click.style(mark[2], fg=_MARK_COLOURS[mark[2]]) + line[mark.end() :]
    return line


def _paint_state(match: re.Match[str]) -> str:
    return match[1] + click.style(match[2], fg=STATE_COLOURS[match[2]])

"""Render a list of many runs in lines for a person."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import PurePath

from orchestrator.domain.run_labels import format_labels
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.listing import format_count
from orchestrator.report.runs.model import RunEntry, RunSummary

_TITLES = ("RUN", "REPOSITORY", "AGE", "STATE", "DONE", "COST", "GOAL")
_WIDTHS = (24, 20, 6, 16, 9, 18, 60)
"""The most letters of each column."""


def render_runs_lines(entries: Sequence[RunEntry], total: int, now: datetime) -> Iterator[str]:
    """Yield the runs as a table, and a line with how many there are in all."""
    rows: list[tuple[str, ...]] = [_TITLES] if entries else []
    rows += [_build_cells(entry, now) for entry in entries]
    widths = []
    for column, most in enumerate(_WIDTHS):
        widths.append(min(most, max((len(row[column]) for row in rows), default=0)))
    for row in rows:
        cells = [cell[:width].ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()
    yield f"{len(entries)} of {format_count(total, 'run')}"


def render_inbox_lines(entries: Sequence[RunEntry], now: datetime) -> Iterator[str]:
    """Yield the open questions of runs, and for each run a command line that answers its first."""
    for entry in entries:
        summary = entry.summary
        if summary is None or not summary.questions:
            continue
        age = format_short_duration((now - summary.started_at).total_seconds())
        yield f"{entry.run}  {summary.repository}  {age}  {describe_goal(summary)}"
        for question in summary.questions:
            yield f"    {question.id}  {question.title}".rstrip()
        if more := summary.questions_open - len(summary.questions):
            yield f"    and {more} more"
        place = f"--repo {shlex.quote(summary.repository)} --state {shlex.quote(str(PurePath(entry.place).parents[2]))}"
        yield f"    orchestrate approve {entry.run} {summary.questions[0].id} {place}"


def _build_cells(entry: RunEntry, now: datetime) -> tuple[str, ...]:
    summary = entry.summary
    if summary is None:
        return entry.run, "", "", entry.word, "", "", entry.problem
    age = format_short_duration((now - summary.started_at).total_seconds())
    done = f"{summary.done}/{summary.total}"
    name, state = PurePath(summary.repository).name, describe_state(entry.word, summary)
    return get_shown_name(entry), name, age, state, done, summary.cost.price, describe_goal(summary)


def describe_state(word: str, summary: RunSummary) -> str:
    """Return what a run does, and how many questions of it wait for a person."""
    if summary.questions_open:
        return f"{word}, asks {summary.questions_open}"
    return word


def describe_goal(summary: RunSummary) -> str:
    """Return a run's goal behind its labels."""
    return " ".join((*(f"[{word}]" for word in format_labels(summary.labels)), summary.goal))


def get_shown_name(entry: RunEntry) -> str:
    """Return what a run is called in a list: the name that a person gave it, else its id."""
    return (entry.summary.name if entry.summary else "") or entry.run

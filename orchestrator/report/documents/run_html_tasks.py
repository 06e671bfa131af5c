"""The tasks of a run's HTML page: what was asked, each attempt with its verdict, receipts, what was said last."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.report.text.html_page import escape_html

_PATHS = 60


def render_tasks_html(tasks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A section with one part a task, in the order of the tree; nothing without tasks."""
    if tasks:
        yield "<h2>Tasks</h2>"
    for task in tasks:
        head = f"{task['id']} – {task['title']}"
        yield f'<details class="task"><summary><b>{escape_html(task["status"])}</b> {escape_html(head)}</summary>'
        yield f"<p>{escape_html(task['outcome'])}</p>"
        yield _listed(task["acceptance"])
        if task["reason"]:
            yield f"<p>Ended{escape_html(', ' + task['cause']) if task['cause'] else ''}: {escape_html(task['reason'])}</p>"
        for attempt in task["attempts"]:
            yield from _attempt(attempt)
        yield from render_receipts_html(task["receipts"])
        for said in task["said"]:
            yield from _said(said)
        yield "</details>"


def _listed(points: Iterable[object]) -> str:
    made = [f"<li>{escape_html(point)}</li>" for point in points]
    if made:
        return f"<ul>{''.join(made)}</ul>"
    return ""


def _attempt(attempt: Mapping[str, Any]) -> Iterator[str]:
    told = (
        f"Attempt {attempt['number']} ({attempt['mode']}) on {attempt['model']}: {attempt['fate']}, {attempt['exit']}"
    )
    yield f"<h3>{escape_html(told)}</h3><p>{escape_html(attempt['summary'])}</p>"
    if attempt["note"]:
        yield f"<p>A person's note: {escape_html(attempt['note'])}</p>"
    yield from _candidate(attempt["candidate"] or {})
    for why in attempt["ejected"]:
        yield f"<p>Ejected: {escape_html(why)}</p>"
    for verdict in attempt["verdicts"]:
        reasons = escape_html("\n".join(verdict["reasons"]))
        yield f'<p class="said">Verdict: <b>{escape_html(verdict["kind"])}</b> {reasons}</p>'
        yield _listed(f"flagged: {flag}" for flag in verdict["flags"])
        yield _listed(
            f"{v['lens']} on {v['model']}: {v['decision']} {'; '.join(v['reasons'])}" for v in verdict["votes"]
        )


def _candidate(candidate: Mapping[str, Any]) -> Iterator[str]:
    """What an attempt made, if it made anything."""
    if candidate:
        paths, counts = candidate["paths"], f"+{candidate['added']} -{candidate['removed']}"
        yield f"<p><code>{escape_html(candidate['commit'][:12])}</code> {len(paths)} files {counts}</p>"
        yield _listed(paths[:_PATHS])
        if len(paths) > _PATHS:
            yield f"<p>and {len(paths) - _PATHS} more files</p>"
        yield _listed(f"left out: {one}" for one in candidate["dropped"])
        yield _listed(f"to look at: {one}" for one in candidate["flagged"])


def render_receipts_html(receipts: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What was run, what it gave, what it lost against the base, how to run it again."""
    for one in receipts:
        counts, lost = one["counts"], (*one["new_failures"], *one["missing"])
        if counts:
            told = ", ".join(f"{count} {name}" for name, count in counts.items())
        else:
            told = f"exit {one['exit_code']}"
        if one["purpose"]:
            purpose = f" for {one['purpose']}"
        else:
            purpose = ""
        told = f"{one['status']}, {told}, {one['seconds']} s, tree {one['tree'][:12]}"
        yield f"<p>Receipt: <code>{escape_html(one['command'])}</code>{escape_html(purpose)}: {escape_html(told)}</p>"
        if lost:
            if one["more"]:
                more = f" and {one['more']} more"
            else:
                more = ""
            yield f"<p>Lost against the base: {escape_html(', '.join(lost))}{more}</p>"
        if one["again"]:
            yield f"<details><summary>run it again</summary><pre>{escape_html(one['again'])}</pre></details>"


def _said(said: Mapping[str, Any]) -> Iterator[str]:
    lines = said["lines"]
    if said["left_out"]:
        lines = [f"… {said['left_out']} lines before: orchestrate logs has them", *lines]
    yield f"<details><summary>{escape_html(said['session'])} on {escape_html(said['model'])}</summary>"
    yield f"<pre>{escape_html(chr(10).join(lines))}</pre></details>"

"""A run's summary for the page of a CI job: Markdown in no more bytes than such a page takes, what matters first."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.sanitization import format_code_span, sanitize_markdown, to_one_line
from orchestrator.report.migration.report_markdown import (
    render_failure_signatures,
    render_flags,
    render_progress,
    render_step_results,
)
from orchestrator.report.text.markdown import escape_markdown, render_code, render_markdown_table

MOST_BYTES = 1024 * 1024
"""What GitHub takes of one step, `$GITHUB_STEP_SUMMARY`; it shows nothing of one that is larger."""
_GOAL_CHARS = 4_000
_NOTICES = 20
_MARKS = {True: "✓ met", False: "✗ not met", None: "· not judged"}
_DONE = frozenset({"merged", "done"})
_LEFT_OUT = "\n\n_{} lines are left out here: {} has all of them._\n"


def render_step_summary(report: Mapping[str, Any], most_bytes: int = MOST_BYTES) -> str:
    """The summary of what `report.run_report.run_report` gives, in at most so many bytes of UTF-8.

    What did not land comes first among the tasks and files, so that a cut takes what went well. Words of models stand
    in it defanged. A cut is told with the number of lines it took and where they are.

    Raises:
        ValueError: not even the first line and the word about the cut have room.
    """
    parts = (
        f"## {escape_markdown(report['repository'])}: {escape_markdown(report['outcome'])}",
        escape_markdown(report["reason"], 2_000),
        _goal(report["goal"]),
        _next(report["next"]),
        _prs(report),
        _checks(report),
        _contract(report),
        _cost(report),
        _notices(report),
        *(_migration(report["migration"]) if report["migration"] else ()),
        _tasks(report),
    )
    text = "\n\n".join(part for part in parts if part) + "\n"
    return fit_to_bytes(
        text, most_bytes, format_code_span(f"orchestrate report {to_one_line(report['run'])} --html FILE")
    )


def fit_to_bytes(text: str, most_bytes: int, where: str) -> str:
    """The text, or as many of its first lines as fit with a word about the others; `where` those are, as Markdown.

    Raises:
        ValueError: not even the first line has room.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= most_bytes:
        return data.decode()
    lines = data.decode().splitlines()
    room = most_bytes - len(_LEFT_OUT.format(len(lines), where).encode())
    kept = 0
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept += 1
    if not kept:
        raise ValueError(f"{most_bytes} bytes are too few for a summary")
    return "\n".join(lines[:kept]) + _LEFT_OUT.format(len(lines) - kept, where)


def _goal(goal: str) -> str:
    told = sanitize_markdown(goal.strip(), _GOAL_CHARS)
    if len(goal.strip()) > _GOAL_CHARS:
        cut = "\n> …"
    else:
        cut = ""
    return "\n".join(f"> {line}" for line in told.splitlines()) + cut


def _next(step: str) -> str:
    command, colon, why = step.partition(": ")
    if step:
        return f"**Next:** {format_code_span(to_one_line(command))}{colon}{escape_markdown(why)}"
    return ""


def _prs(report: Mapping[str, Any]) -> str:
    prs = report["prs"] or ([report["pr"]] if report["pr"] else [])
    rows = ((escape_markdown(pr.get("group") or "all"), escape_markdown(pr["url"] or pr["ref"], 2_000)) for pr in prs)
    return render_markdown_table("Pull requests", ("of", "where"), rows, most=len(prs))


def _checks(report: Mapping[str, Any]) -> str:
    checks = report["checks"]["checks"] if report["checks"] else []
    rows = (
        (
            escape_markdown(one["name"]),
            one["state"],
            escape_markdown(one["summary"]),
            escape_markdown(one["url"], 2_000),
        )
        for one in checks
    )
    return render_markdown_table(
        "Checks of the forge", ("check", "state", "what it says", "where"), rows, most=len(checks)
    )


def _contract(report: Mapping[str, Any]) -> str:
    rows = (
        (
            escape_markdown(one["id"]),
            _MARKS[one["met"]],
            escape_markdown(one["text"]),
            escape_markdown(one["evidence"]),
            _exits(one),
        )
        for one in report["contract"]
    )
    heads = ("criterion", "state", "what", "evidence", "exit: base → now")
    return render_markdown_table("Contract", heads, rows, most=len(report["contract"]))


def _exits(one: Mapping[str, Any]) -> str:
    if one["exit"] is None:
        return ""
    return f"{'?' if one['exit_on_base'] is None else one['exit_on_base']} → {one['exit']}"


def _cost(report: Mapping[str, Any]) -> str:
    spent, head = report["spent"], report["head"]
    price = f"${spent['usd_known']:.2f}" + (" + unknown" if spent["usd"] is None else "")
    wasted = report["cost"]["wasted"]
    if report["cost"]["waste"]:
        lost = f", {wasted['share']:.0%} of it for work that did not land"
    else:
        lost = ""
    calls = f"{spent['calls']} model calls, {spent['tokens']:,} tokens, {report['test_runs']} test runs"
    if head:
        where = f"head {render_code(head[:12])} on {render_code(report['pr_branch'])}"
    else:
        where = "nothing landed"
    return (
        f"### Cost\n\n{price}{lost}; {calls}, {format_short_duration(spent['wall_s'])} of work.\n\n"
        f"Run {render_code(report['run'])}, base {render_code(report['base'][:12])}, {where}."
    )


def _notices(report: Mapping[str, Any]) -> str:
    told = []
    for notice in report["notices"][:_NOTICES]:
        told.append(f"- {escape_markdown(notice)}")
    if report["unsafe"]:
        told.insert(0, "- **Commands of this run had no sandbox.**")
    if (more := len(report["notices"]) - _NOTICES) > 0:
        told.append(f"- and {more} more")
    return "\n".join(("### Notices", "", *told)) if told else ""


def _migration(report: Mapping[str, Any]) -> Iterator[str]:
    yield render_progress(report)
    rest = []
    for file in report["files"]:
        if file["status"] not in {"merged", "skipped"}:
            rest.append(file)
    yield from (render_failure_signatures(report), render_flags(report), render_step_results(report))
    rows = ((render_code(file["path"]), file["status"], escape_markdown(file["reason"])) for file in rest)
    yield render_markdown_table(
        f"Files that did not land ({len(rest)})", ("file", "status", "reason"), rows, most=len(rest)
    )


def _tasks(report: Mapping[str, Any]) -> str:
    tasks = sorted(report["tasks_by_tree"], key=lambda task: task["status"] in _DONE)  # else in the tree's order
    rows = (
        (
            *(render_code(task["id"]), task["status"], str(len(task["attempts"])), task["price"]),
            *(escape_markdown(task["title"]), escape_markdown(task["reason"])),
        )
        for task in tasks
    )
    return render_markdown_table(
        "Tasks", ("task", "status", "attempts", "cost", "title", "reason"), rows, most=len(tasks)
    )

"""The report of a run as Markdown, for an issue or a summary. Words from elsewhere are inert."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.sanitization import sanitize_markdown, to_one_line
from orchestrator.report.migration.report_markdown import render_migration_markdown
from orchestrator.report.text.markdown import escape_markdown, render_code, render_markdown_table

_MARKS = {True: "✓", False: "✗", None: "·"}


def render_run_markdown(report: Mapping[str, Any]) -> str:
    """The whole report under one heading."""
    parts = (
        f"## {escape_markdown(report['repository'])}: {escape_markdown(report['outcome'])}",
        escape_markdown(report["reason"]),
        _goal(report["goal"]),
        _spent(report),
        f"Next: {escape_markdown(report['next'])}" if report["next"] else "",
        _contract(report),
        _forge(report),
        _tasks(report),
        _waste(report),
        f"\n{render_migration_markdown(report['migration'])}".replace("\n## ", "\n### ").strip()
        if report["migration"]
        else "",
        _again(report),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _goal(goal: str) -> str:
    return "\n".join(f"> {sanitize_markdown(line)}" for line in goal.strip().splitlines())


def _spent(report: Mapping[str, Any]) -> str:
    spent = report["spent"]
    price = f"${spent['usd_known']:.2f}" + (" + unknown" if spent["usd"] is None else "")
    where = f"Run `{report['run']}`, base `{report['base'][:12]}`, " + (
        f"head `{report['head'][:12]}`" if report["head"] else "nothing landed"
    )
    took = f"{report['test_runs']} test runs, {spent['calls']} model calls, {price}, {format_short_duration(spent['wall_s'])} of work"
    return f"{where}: {took}."


def _contract(report: Mapping[str, Any]) -> str:
    rows = (
        (escape_markdown(one["id"]), _MARKS[one["met"]], escape_markdown(one["text"]), escape_markdown(one["evidence"]))
        for one in report["contract"]
    )
    return render_markdown_table("Contract", ("criterion", "met", "what", "evidence"), rows)


def _forge(report: Mapping[str, Any]) -> str:
    checks = report["checks"]["checks"] if report["checks"] else ()
    rows = ((escape_markdown(one["name"]), one["state"], escape_markdown(one["summary"])) for one in checks)
    return render_markdown_table("Checks of the forge", ("check", "state", "what it says"), rows)


def _tasks(report: Mapping[str, Any]) -> str:
    rows = (
        (
            *(render_code(task["id"]), task["status"], str(len(task["attempts"]))),
            *(task["price"], escape_markdown(task["title"]), escape_markdown(task["reason"])),
        )
        for task in report["tasks_by_tree"]
    )
    return render_markdown_table("Tasks", ("task", "status", "attempts", "cost", "title", "reason"), rows)


def _waste(report: Mapping[str, Any]) -> str:
    cost = report["cost"]
    rows = ((escape_markdown(one["name"]), str(one["count"]), f"{one['share']:.1%}") for one in cost["waste"])
    return render_markdown_table("Wasted", ("what", "times", "share of what was spent"), rows)


def _again(report: Mapping[str, Any]) -> str:
    return "\n".join(("### How to reproduce", "", *_block(report["reproduce"])))


def _block(lines: list[str]) -> Iterator[str]:
    yield "```sh"
    for line in lines:
        yield to_one_line(line).replace("```", "'''")
    yield "```"

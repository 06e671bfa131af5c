"""The report of a run as Markdown, for an issue or a summary. Words from elsewhere are inert."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.domain.plain import inert, one_line
from orchestrator.report.eta import duration
from orchestrator.report.markdown import code, table, words
from orchestrator.report.migration_md import report_md

_MARKS = {True: "✓", False: "✗", None: "·"}


def run_md(report: Mapping[str, Any]) -> str:
    """The whole report under one heading."""
    parts = (
        f"## {words(report['repository'])}: {words(report['outcome'])}",
        words(report["reason"]),
        _goal(report["goal"]),
        _spent(report),
        f"Next: {words(report['next'])}" if report["next"] else "",
        _contract(report),
        _forge(report),
        _tasks(report),
        _waste(report),
        f"\n{report_md(report['migration'])}".replace("\n## ", "\n### ").strip() if report["migration"] else "",
        _again(report),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _goal(goal: str) -> str:
    return "\n".join(f"> {inert(line)}" for line in goal.strip().splitlines())


def _spent(report: Mapping[str, Any]) -> str:
    spent = report["spent"]
    price = f"${spent['usd_known']:.2f}" + (" + unknown" if spent["usd"] is None else "")
    where = f"Run `{report['run']}`, base `{report['base'][:12]}`, " + (
        f"head `{report['head'][:12]}`" if report["head"] else "nothing landed"
    )
    took = (
        f"{report['test_runs']} test runs, {spent['calls']} model calls, {price}, {duration(spent['wall_s'])} of work"
    )
    return f"{where}: {took}."


def _contract(report: Mapping[str, Any]) -> str:
    rows = (
        (words(one["id"]), _MARKS[one["met"]], words(one["text"]), words(one["evidence"])) for one in report["contract"]
    )
    return table("Contract", ("criterion", "met", "what", "evidence"), rows)


def _forge(report: Mapping[str, Any]) -> str:
    checks = report["checks"]["checks"] if report["checks"] else ()
    rows = ((words(one["name"]), one["state"], words(one["summary"])) for one in checks)
    return table("Checks of the forge", ("check", "state", "what it says"), rows)


def _tasks(report: Mapping[str, Any]) -> str:
    rows = (
        (
            *(code(task["id"]), task["status"], str(len(task["attempts"]))),
            *(task["price"], words(task["title"]), words(task["reason"])),
        )
        for task in report["tasks_by_tree"]
    )
    return table("Tasks", ("task", "status", "attempts", "cost", "title", "reason"), rows)


def _waste(report: Mapping[str, Any]) -> str:
    cost = report["cost"]
    rows = ((words(one["name"]), str(one["count"]), f"{one['share']:.1%}") for one in cost["waste"])
    return table("Wasted", ("what", "times", "share of what was spent"), rows)


def _again(report: Mapping[str, Any]) -> str:
    return "\n".join(("### How to reproduce", "", *_block(report["reproduce"])))


def _block(lines: list[str]) -> Iterator[str]:
    yield "```sh"
    yield from (one_line(line).replace("```", "'''") for line in lines)
    yield "```"

"""The report of a run as one HTML page that needs nothing else; it is read without a script, and prints."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.report.documents.gantt_svg import MOST_TASKS, render_gantt_svg
from orchestrator.report.documents.run_html_size import iterate_smaller_reports
from orchestrator.report.documents.run_html_tasks import render_receipts_html, render_tasks_html
from orchestrator.report.migration.report_html import render_migration_parts
from orchestrator.report.text.html_page import escape_html, render_html_table, render_page, render_scrollable

_MARKS = {True: "✓ met", False: "✗ not met", None: "· not judged"}


MOST_BYTES = 5_000_000


def render_run_html(report: Mapping[str, Any], most_bytes: int = MOST_BYTES) -> str:
    """The page. One that would be larger than `most_bytes` is made of less, step by step, and says what it leaves out.

    What is left out last is a row for each task and file: with more of those than it has room for, it has the first.
    """
    for left_out, less in iterate_smaller_reports(report):
        text = _whole(less, left_out)
        if len(text.encode("utf-8", "replace")) <= most_bytes:
            break
    return text


def _whole(report: Mapping[str, Any], left_out: Sequence[str]) -> str:
    title = f"{report['repository']}: {report['outcome']}"
    return render_page(
        title,
        (
            *_banner(report, title),
            *_left_out(report, left_out),
            *_contract(report),
            *_forge(report),
            *_timeline(report),
            *_plan(report),
            *render_tasks_html([task for task in report["tasks_by_tree"] if task["is_told"]]),
            *(render_migration_parts(report["migration"]) if report["migration"] else ()),
            *_cost(report),
            *_again(report),
        ),
    )


def _banner(report: Mapping[str, Any], title: str) -> Iterator[str]:
    spent, goal = report["spent"], report["goal"].strip()
    yield f'<h1 class="{escape_html(report["outcome"])}">{escape_html(title)}</h1>'
    if report["unsafe"]:
        yield '<p class="unsafe">Commands of this run had no sandbox.</p>'
    yield f'<p class="big">{escape_html(report["reason"])}</p><blockquote>{escape_html(goal)}</blockquote>'
    price = f"${spent['usd_known']:.2f}" + (" + unknown" if spent["usd"] is None else "")
    if report["head"]:
        head = f"<code>{escape_html(report['head'][:12])}</code>"
    else:
        head = "nothing landed"
    yield (
        f"<p>Run <code>{escape_html(report['run'])}</code>, begun {escape_html(report['started_at'])}<br>"
        f"branch <code>{escape_html(report['pr_branch'])}</code>, base <code>{escape_html(report['base'][:12])}</code>, "
        f"head {head}<br>"
        f"{report['test_runs']} test runs, {spent['calls']} model calls, {spent['tokens']:,} tokens, {price}, "
        f"{format_short_duration(spent['wall_s'])} of work</p>"
    )
    if report["next"]:
        yield f"<p>Next: {escape_html(report['next'])}</p>"
    for pr in _prs(report):
        yield f"<p>Pull request: {escape_html(pr['url'] or pr['ref'])}</p>"
    for notice in report["notices"]:
        yield f'<p class="notice">{escape_html(notice)}</p>'
    gate = report["gate"]
    if gate["new_failures"] or gate["missing_tests"]:
        yield f'<p class="unsafe">Red: {escape_html(", ".join((*gate["new_failures"], *gate["missing_tests"])))}</p>'
    yield from render_html_table(
        "Tests that were seen both ways", ("test", "#times"), ((f["test"], f["seen"]) for f in report["flaky"])
    )


def _left_out(report: Mapping[str, Any], left_out: Sequence[str]) -> Iterator[str]:
    if left_out:
        whole = escape_html(f"orchestrate report {report['run']} --data FILE")
        yield f"<p>Left out, so that this page stays small (<code>{whole}</code> has all of it):</p>"
        yield f"<ul>{''.join(f'<li>{escape_html(one)}</li>' for one in left_out)}</ul>"


def _prs(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return report["prs"] or ([report["pr"]] if report["pr"] else [])


def _contract(report: Mapping[str, Any]) -> Iterator[str]:
    rows = (
        (one["id"], _MARKS[one["met"]], one["text"], one["evidence"], one.get("command") or "", _exits(one))
        for one in report["contract"]
    )
    yield from render_html_table(
        "Contract", ("criterion", "state", "what", "evidence", "command", "exit: base → now"), rows
    )
    yield from render_receipts_html(report["contract_receipts"])
    for number, given in enumerate(report["iterations_judged"], start=1):
        reasons = "; ".join(given["reasons"])
        yield f"<p>Iteration {number}: {escape_html(given['decision'])}{f' – {escape_html(reasons)}' if reasons else ''}</p>"


def _exits(one: Mapping[str, Any]) -> str:
    if one["exit"] is None:
        return ""
    return f"{'?' if one['exit_on_base'] is None else one['exit_on_base']} → {one['exit']}"


def _forge(report: Mapping[str, Any]) -> Iterator[str]:
    """What the forge's checks said of the pull request, where anybody waited for it."""
    checks = report["checks"]["checks"] if report["checks"] else ()
    rows = ((one["name"], one["state"], one["summary"], one["url"]) for one in checks)
    yield from render_html_table("Checks of the forge", ("check", "state", "what it says", "where"), rows)
    if report["merged"]:
        yield f"<p>Merged; the target stands at <code>{escape_html(report['merged']['target'][:12])}</code>.</p>"


def _timeline(report: Mapping[str, Any]) -> Iterator[str]:
    if report["timeline"]:
        last = report["last_at"] or report["started_at"]
        whole = datetime.fromisoformat(last) - datetime.fromisoformat(report["started_at"])
        yield "<h2>Timeline</h2>"
        yield render_scrollable(render_gantt_svg(report["timeline"], whole.total_seconds()))
        more = len({one["task"] for one in report["timeline"]}) - MOST_TASKS
        if more > 0:
            yield f"<p>and {more} more tasks</p>"


def _plan(report: Mapping[str, Any]) -> Iterator[str]:
    rows = (
        (
            *("  " * task["depth"] + task["id"], task["status"], task["cause"] or "", len(task["attempts"])),
            *(task["price"], task["title"], task["reason"]),
        )
        for task in report["tasks_by_tree"]
    )
    heads = ("task", "status", "cause", "#attempts", "#cost, with all below", "title", "reason")
    yield from render_html_table("Plan", heads, rows)


def _cost(report: Mapping[str, Any]) -> Iterator[str]:
    cost = report["cost"]
    for title, key in (("Cost by role", "roles"), ("Cost by model", "models"), ("What was wasted", "waste")):
        rows = (
            (one["name"], _usd(one), f"{one['tokens']:,}", one["calls"], f"{one['share']:.1%}") for one in cost[key]
        )
        yield from render_html_table(title, ("", "#cost", "#tokens", "#calls", "#share"), rows)
    wasted = cost["wasted"]
    if cost["waste"]:
        yield f"<p>Wasted in all: {_usd(wasted)}, {wasted['share']:.1%} of what was spent.</p>"


def _usd(amount: Mapping[str, Any]) -> str:
    if amount["usd"] is not None:
        return f"${amount['usd']:.2f}"
    if amount["usd_known"]:
        return f"${amount['usd_known']:.2f} + unknown"
    return "n/a"


def _again(report: Mapping[str, Any]) -> Iterator[str]:
    settings = json.dumps([report["settings"], *report["settings_changed"]], indent=1, ensure_ascii=False)
    yield "<h2>How to reproduce</h2>"
    yield f"<pre>{escape_html(chr(10).join(report['reproduce']))}</pre>"
    versions = escape_html(", ".join(report["versions"]))
    yield f"<p>Journal: <code>{escape_html(report['journal'])}</code>; written by version {versions}</p>"
    yield f"<details><summary>settings</summary><pre>{escape_html(settings)}</pre></details>"

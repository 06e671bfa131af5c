"""The report of a migration as one HTML page that needs nothing else."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.report.migration.burndown_svg import render_burndown_svg
from orchestrator.report.migration.file_groups import NO_GROUP
from orchestrator.report.text.html_page import escape_html, render_html_table, render_page, render_scrollable


def render_migration_html(report: Mapping[str, Any]) -> str:
    """The page."""
    return render_page(f"{report['title']}: migration report", (*_head(report), *render_migration_parts(report)))


def render_migration_parts(report: Mapping[str, Any]) -> Iterator[str]:
    """What a page says of a migration beside its head: the curve, tables, every file."""
    yield render_scrollable(render_burndown_svg(report["series"], report["ideal"], report["unit"]))
    yield from _marks(report)
    yield from _groups(report)
    yield from _failures(report)
    yield from _ladder(report)
    yield from _files(report)


def _head(report: Mapping[str, Any]) -> Iterator[str]:
    now, spent = report["now"], report["spent"]
    yield f"<h1>{escape_html(report['title'])}</h1>"
    if report["unsafe"]:
        yield '<p class="unsafe">Commands of this run had no sandbox.</p>'
    counts = ", ".join(f"{count} {name}" for name, count in now["files"].items())
    yield (
        f'<p class="big">{escape_html(report["unit"])} {now["found"]:,g} → {now["remaining"]:,g}'
        f" (target {now['target']:,g}); files: {escape_html(counts)}</p>"
    )
    price = f"${spent['usd_known']:.2f}" + (" + unknown" if spent["usd"] is None else "")
    if report["head"]:
        head = f", head <code>{escape_html(report['head'][:12])}</code>"
    else:
        head = ""
    yield (
        f"<p>Run <code>{escape_html(report['run'])}</code>, {escape_html(report['outcome'])}: {escape_html(report['reason'])}<br>"
        f"recipe revision {report['revision']}, base <code>{escape_html(report['base'][:12])}</code>{head}, "
        f"begun {escape_html(report['started_at'])}<br>"
        f"{spent['test_runs']} test runs, {spent['calls']} model calls, {price}, "
        f"{format_short_duration(spent['wall_s'])} of work{_eta(report)}</p>"
    )


def _eta(report: Mapping[str, Any]) -> str:
    eta = report["eta"]
    if not eta:
        return ""
    return f", {format_short_duration(eta['seconds'])} more ({format_short_duration(eta['low_s'])} to {format_short_duration(eta['high_s'])})"


def _marks(report: Mapping[str, Any]) -> Iterator[str]:
    rows = ((format_short_duration(point["at"]), f"{point['sites']:,g}", point["mark"]) for point in report["series"])
    heads = ("#after", f"#{report['unit']} left", "what happened")
    yield from render_html_table("What happened", heads, (row for row in rows if row[2]))


def _groups(report: Mapping[str, Any]) -> Iterator[str]:
    heads = ("#files", "#landed", "#%", "#left", "#failed", "#PRs", "#s/file", "#cost", "top reason")
    for what, name in (("owner", "owners"), ("directory", "directories")):
        groups = report[name]
        if what == "owner" and all(group["name"] == NO_GROUP for group in groups):
            continue
        yield from render_html_table(f"By {what}", (what, *heads), (_group(group) for group in groups))


def _group(group: Mapping[str, Any]) -> tuple[object, ...]:
    if group["p50_s"] is None:
        seconds = NO_GROUP
    else:
        seconds = f"{group['p50_s']:.1f}"
    return (
        *(group["name"], group["files"], group["done"], f"{group['share'] * 100:.0f}", f"{group['sites_left']:,g}"),
        *(group["rejected"], group["prs"], seconds, f"${group['usd']:.2f}", group["top_reason"]),
    )


def _failures(report: Mapping[str, Any]) -> Iterator[str]:
    rows = (
        (row["files"], f"{row['sites']:,g}", ", ".join(row["steps"]), row["signature"], ", ".join(row["examples"]))
        for row in report["signatures"]
    )
    heads = ("#files", f"#{report['unit']}", "steps", "signature", "such as")
    yield from render_html_table("What failed alike", heads, rows)
    flags = ((flag["files"], flag["flag"], ", ".join(flag["examples"])) for flag in report["flags"])
    yield from render_html_table("To look at in review", ("#files", "what", "such as"), flags)


def _ladder(report: Mapping[str, Any]) -> Iterator[str]:
    rows = (
        (step["step"], step["kind"], step["tried"], step["landed"], step["first_try"], step["later_try"])
        for step in report["rungs"]
    )
    yield from render_html_table("By step", ("step", "kind", "#tried on", "#landed", "#first try", "#later"), rows)
    revisions = (
        (place, one["revision"], one["by"], one["files"]) for place, one in enumerate(report["revisions"], start=2)
    )
    yield from render_html_table("Revisions of the recipe", ("#no.", "recipe", "by", "#files done again"), revisions)
    invariants = ((one.get("kind", ""), _details(one)) for one in report["invariants"])
    yield from render_html_table("Invariants", ("kind", "what"), invariants)


def _details(invariant: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in invariant.items() if name != "kind")


def _files(report: Mapping[str, Any]) -> Iterator[str]:
    heads = ("file", "status", "owner", "shard", "step", "#sites", "#left", "reason", "signature", "commit")
    rows = (
        (
            *(file["path"], file["status"], file["owner"], file["shard"], file["step"], file["sites"]),
            *(file["sites_left"], file["reason"], file["signature"], file["commit"][:12]),
        )
        for file in report["files"]
    )
    yield from render_html_table("Files", heads, rows)

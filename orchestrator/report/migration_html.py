"""The report of a migration as one HTML page that needs nothing else: no script, no font, no picture from elsewhere.

Every word of it that comes from a repository or a model is escaped, and has no control characters.
"""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from orchestrator.domain.plain import strip_controls
from orchestrator.report.chart import chart
from orchestrator.report.eta import duration
from orchestrator.report.groups import NOBODY

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --curve: #2563eb; --mark: #d97706; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; width: 100%; font-size: 13px; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top; }
td { overflow-wrap: anywhere; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: currentColor; }
.grid { stroke: var(--line); } .curve { fill: none; stroke: var(--curve); stroke-width: 2; }
.ideal { stroke: currentColor; stroke-dasharray: 5 4; opacity: .6; }
line.mark { stroke: var(--mark); stroke-dasharray: 2 3; } circle.mark { fill: var(--mark); }
.big { font-size: 1.25rem; } .unsafe { color: #b91c1c; font-weight: 600; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def report_html(report: Mapping[str, Any]) -> str:
    """The page."""
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(report['title'])}: migration report</title><style>{_STYLE}</style></head><body>",
            *_head(report),
            chart(report["series"], report["ideal"], report["unit"]),
            *_marks(report),
            *_groups(report),
            *_failures(report),
            *_ladder(report),
            *_files(report),
            "</body></html>",
            "",
        )
    )


def _text(value: object) -> str:
    return escape(strip_controls(str(value)))


def _table(title: str, heads: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """A table; nothing without rows. Heads that begin with `#` are columns of numbers."""
    made, columns = [list(row) for row in rows], list(heads)
    if not made:
        return
    numbers = [' class="n"' if head.startswith("#") else "" for head in columns]
    yield f"<h2>{_text(title)}</h2>"
    cells = zip(columns, numbers, strict=True)
    yield (
        "<table><thead><tr>" + "".join(f"<th{n}>{_text(head.lstrip('#'))}</th>" for head, n in cells) + "</tr></thead>"
    )
    yield "<tbody>"
    for row in made:
        yield "<tr>" + "".join(f"<td{n}>{_text(cell)}</td>" for cell, n in zip(row, numbers, strict=True)) + "</tr>"
    yield "</tbody></table>"


def _head(report: Mapping[str, Any]) -> Iterator[str]:
    now, spent = report["now"], report["spent"]
    yield f"<h1>{_text(report['title'])}</h1>"
    if report["unsafe"]:
        yield '<p class="unsafe">Commands of this run had no sandbox.</p>'
    counts = ", ".join(f"{count} {name}" for name, count in now["files"].items())
    yield (
        f'<p class="big">{_text(report["unit"])} {now["found"]:,g} → {now["remaining"]:,g}'
        f" (target {now['target']:,g}); files: {_text(counts)}</p>"
    )
    price = f"${spent['usd_known']:.2f}" + (" + unknown" if spent["usd"] is None else "")
    head = f", head <code>{_text(report['head'][:12])}</code>" if report["head"] else ""
    yield (
        f"<p>Run <code>{_text(report['run'])}</code>, {_text(report['outcome'])}: {_text(report['reason'])}<br>"
        f"recipe revision {report['revision']}, base <code>{_text(report['base'][:12])}</code>{head}, "
        f"begun {_text(report['started_at'])}<br>"
        f"{spent['test_runs']} test runs, {spent['calls']} model calls, {price}, "
        f"{duration(spent['wall_s'])} of work{_eta(report)}</p>"
    )


def _eta(report: Mapping[str, Any]) -> str:
    eta = report["eta"]
    if not eta:
        return ""
    return f", {duration(eta['seconds'])} more ({duration(eta['low_s'])} to {duration(eta['high_s'])})"


def _marks(report: Mapping[str, Any]) -> Iterator[str]:
    rows = ((duration(point["at"]), f"{point['sites']:,g}", point["mark"]) for point in report["series"])
    heads = ("#after", f"#{report['unit']} left", "what happened")
    yield from _table("What happened", heads, (row for row in rows if row[2]))


def _groups(report: Mapping[str, Any]) -> Iterator[str]:
    heads = ("#files", "#landed", "#%", "#left", "#rejected", "#PRs", "#s/file", "#cost", "top reason")
    for what, name in (("owner", "owners"), ("directory", "directories")):
        groups = report[name]
        if what == "owner" and all(group["name"] == NOBODY for group in groups):
            continue
        yield from _table(f"By {what}", (what, *heads), (_group(group) for group in groups))


def _group(group: Mapping[str, Any]) -> tuple[object, ...]:
    seconds = NOBODY if group["p50_s"] is None else f"{group['p50_s']:.1f}"
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
    yield from _table("What failed alike", heads, rows)
    flags = ((flag["files"], flag["flag"], ", ".join(flag["examples"])) for flag in report["flags"])
    yield from _table("To look at in review", ("#files", "what", "such as"), flags)


def _ladder(report: Mapping[str, Any]) -> Iterator[str]:
    rows = (
        (step["step"], step["kind"], step["tried"], step["landed"], step["first_try"], step["later_try"])
        for step in report["rungs"]
    )
    yield from _table("By step", ("step", "kind", "#tried on", "#landed", "#first try", "#later"), rows)
    revisions = (
        (place, one["revision"], one["by"], one["files"]) for place, one in enumerate(report["revisions"], start=2)
    )
    yield from _table("Revisions of the recipe", ("#no.", "recipe", "by", "#files done again"), revisions)
    invariants = ((one.get("kind", ""), _details(one)) for one in report["invariants"])
    yield from _table("Invariants", ("kind", "what"), invariants)


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
    yield from _table("Files", heads, rows)

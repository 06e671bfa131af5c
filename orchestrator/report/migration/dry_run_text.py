"""The report of a dry run for people: lines for a terminal, and Markdown. Words from elsewhere are inert."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.domain.text.sanitization import sanitize_markdown, strip_controls, to_one_line
from orchestrator.report.text.markdown import render_markdown_table

_FILES = 40
_NAMES = 10
_CHARS = 300
_DIFF_CHARS = 60_000
_LOST = {
    "new_failures": "fail with it",
    "missing_tests": "are missing with it",
    "newly_skipped": "are skipped with it",
    "unsettled": "say now this, now that",
    "problems": "speak against it",
}

DryRunReport = Mapping[str, Any]


def render_dry_run_lines(report: DryRunReport) -> Iterator[str]:
    """The whole report for a terminal; the diff last, if it was asked for."""
    yield f"{to_one_line(report['title'])}: a dry run at {report['base'][:12]}; nothing has landed, nothing is kept"
    yield f"  {_in_scope(report)}"
    yield f"  {_changes(report)}"
    for text in report["notices"]:
        yield f"  note: {to_one_line(text)}"
    for step in report["steps"]:
        yield f"step {step['id']} ({step['kind']}): {_step(step)}"
    for shard in report["shards"]:
        if shard["changed"]:
            yield f"shard {shard['name']}: {_shard(shard)}"
    yield from _listed("put back", [_restored(file) for file in _with(report, "restored")])
    yield from _listed("by signature", [f"{one['files']} × {one['signature']}" for one in report["alike"]])
    yield from _listed("sites that would remain", list(_remaining(report)))
    if report["gate"]:
        yield from _gate(report["gate"])
    if report["diff"]:
        yield ""
        yield report["diff"].rstrip("\n")


def render_dry_run_markdown(report: DryRunReport) -> str:
    """The same under one heading, for the body of an issue or a pull request."""
    if report["gate"]:
        gate = "\n".join(_gate(report["gate"]))
    else:
        gate = ""
    parts = (
        f"## {sanitize_markdown(to_one_line(report['title']))}: a dry run",
        f"{_in_scope(report)}. **{_changes(report)}** Base `{report['base']}`, recipe `{report['revision']}`.",
        _bullets("Noticed", report["notices"]),
        render_markdown_table(
            "Steps", ("step", "kind", "result"), ((s["id"], s["kind"], _cell(_step(s))) for s in report["steps"])
        ),
        render_markdown_table(
            "Shards", ("shard", "result"), ((_cell(s["name"]), _shard(s)) for s in report["shards"] if s["changed"])
        ),
        render_markdown_table(
            "Put back",
            ("file", "step", "why"),
            ((_cell(f["path"]), f["step"], _cell(f["reason"])) for f in _with(report, "restored")),
        ),
        render_markdown_table(
            "Failures alike",
            ("files", "signature"),
            ((str(a["files"]), _cell(a["signature"])) for a in report["alike"]),
        ),
        _bullets("Sites that would remain", list(_remaining(report))),
        f"### The gate\n\n{sanitize_markdown(gate)}" if gate else "",
        _fenced(report["diff"]) if report["diff"] else "",
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _in_scope(report: DryRunReport) -> str:
    found, tried = report["found"], report["tried"]
    if report["remaining"] is not None:
        sites = f" with {found['sites']} sites"
    else:
        sites = ""
    return f"{found['files']} files in scope{sites}; {tried['files']} of them were tried"


def _changes(report: DryRunReport) -> str:
    left = ""
    if report["remaining"] is not None:
        left = f", {report['tried']['sites']} sites → {report['remaining']}"
    if not report["changed"]:
        return f"no step changes anything{left}."
    return f"{report['changed']} files would change, +{report['added']} -{report['removed']} lines{left}."


def _step(step: Mapping[str, Any]) -> str:
    if step["not_tried"]:
        return f"not tried, since {step['not_tried']}"
    counts = {"changed": step["changed"], "left as they were": step["unchanged"], "put back": step["restored"]}
    told = ", ".join(f"{count} {word}" for word, count in counts.items())
    if step["refused"]:
        refused = f", {step['refused']} put back by a rule"
    else:
        refused = ""
    if step["cached"]:
        cached = f"; {step['cached']} known from earlier runs"
    else:
        cached = ""
    return f"{step['files']} files: {told}{refused}{cached}"


def _shard(shard: Mapping[str, Any]) -> str:
    return f"{shard['changed']} of {shard['files']} files, +{shard['added']} -{shard['removed']}"


def _with(report: DryRunReport, status: str) -> list[Mapping[str, Any]]:
    return [file for file in report["files"] if file["status"] == status]


def _restored(file: Mapping[str, Any]) -> str:
    return f"{file['path']} (step {file['step']}): {file['reason']}"


def _remaining(report: DryRunReport) -> Iterator[str]:
    """A line for each place."""
    for file in report["files"]:
        for place in file["left"]:
            yield f"{file['path']}:{place['line']}:{place['column']}: {place['site']}"


def _gate(gate: Mapping[str, Any]) -> Iterator[str]:
    yield f"the gate on all changes together: {'green' if gate['green'] else 'RED'}"
    for name, words in _LOST.items():
        if gate[name]:
            yield f"  {len(gate[name])} {words}: {_some(gate[name])}"


def _some(names: Sequence[str]) -> str:
    if len(names) > _NAMES:
        more = f" and {len(names) - _NAMES} more"
    else:
        more = ""
    return to_one_line(", ".join(names[:_NAMES])) + more


def _listed(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
    for line in lines[:_FILES]:
        yield f"  {to_one_line(line, _CHARS)}"
    if len(lines) > _FILES:
        yield f"  and {len(lines) - _FILES} more; --json has all of them"


def _bullets(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    more: Iterable[str] = (f"- and {len(lines) - _FILES} more",) if len(lines) > _FILES else ()
    return "\n".join(
        (f"### {title}", "", *(f"- {sanitize_markdown(to_one_line(line, _CHARS))}" for line in lines[:_FILES]), *more)
    )


def _cell(text: str) -> str:
    return sanitize_markdown(to_one_line(text, _CHARS)).replace("\\", "\\\\").replace("|", "\\|")


def _fenced(diff: str) -> str:
    """The diff in a block that nothing in it can end; a long one is cut at a line."""
    text = strip_controls(diff)
    if len(text) > _DIFF_CHARS:
        text = text[:_DIFF_CHARS].rpartition("\n")[0] + "\n[cut here: the rest is not shown]"
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"### Diff\n\n{fence}diff\n{text.rstrip()}\n{fence}"

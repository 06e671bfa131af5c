"""The report of a migration as Markdown, for the body of a pull request or an issue. Words from elsewhere are inert."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.sanitization import format_code_span, to_one_line
from orchestrator.report.migration.file_groups import NO_GROUP
from orchestrator.report.text.markdown import escape_markdown, render_code, render_markdown_table

_FILES = 200


def render_migration_markdown(report: Mapping[str, Any]) -> str:
    """The whole report under one heading."""
    parts = (
        f"## {escape_markdown(report['title'])}",
        render_progress(report),
        _groups(report),
        render_failure_signatures(report),
        render_flags(report),
        render_step_results(report),
        render_revisions(report),
        render_invariants(report["invariants"]),
        _not_landed(report["files"]),
        f"Run `{report['run']}`, base `{report['base']}`.",
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def render_progress(report: Mapping[str, Any]) -> str:
    """How far it is, in two lines."""
    now, unit, eta = report["now"], report["unit"], report["eta"]
    concerned = sum(count for name, count in now["files"].items() if name != "nothing-to-do")
    rest = ", ".join(
        f"{count} {name}" for name, count in now["files"].items() if name not in {"merged", "nothing-to-do"}
    )
    if eta:
        until = f"; about {format_short_duration(eta['low_s'])} to {format_short_duration(eta['high_s'])} of work to go"
    else:
        until = ""
    return (
        f"**{now['found']:,g} {unit} → {now['remaining']:,g}**, {now['files'].get('merged', 0)} of {concerned} files "
        f"landed{f' ({rest})' if rest else ''}{until}."
    )


def _groups(report: Mapping[str, Any]) -> str:
    owners = [] if all(group["name"] == NO_GROUP for group in report["owners"]) else report["owners"]
    heads = ("landed", "left", "failed", "top reason")
    parts = (
        render_markdown_table("By owner", ("owner", *heads), map(_group, owners)),
        render_markdown_table("By directory", ("directory", *heads), map(_group, report["directories"])),
    )
    return "\n\n".join(part for part in parts if part)


def _group(group: Mapping[str, Any]) -> tuple[str, ...]:
    reason = escape_markdown(group["top_reason"]) or NO_GROUP
    share = f"{group['done']}/{group['files']} ({group['share'] * 100:.0f} %)"
    return render_code(group["name"]), share, f"{group['sites_left']:,g}", str(group["rejected"]), reason


def render_failure_signatures(report: Mapping[str, Any]) -> str:
    """What failed alike."""
    rows = (
        (str(row["files"]), escape_markdown(row["signature"]), ", ".join(map(render_code, row["examples"])))
        for row in report["signatures"]
    )
    return render_markdown_table("What failed alike", ("files", "signature", "such as"), rows)


def render_flags(report: Mapping[str, Any]) -> str:
    """What reviewers should look at."""
    rows = (
        (escape_markdown(flag["flag"]), str(flag["files"]), ", ".join(map(render_code, flag["examples"])))
        for flag in report["flags"]
    )
    return render_markdown_table("To look at", ("what", "files", "such as"), rows)


def render_step_results(report: Mapping[str, Any]) -> str:
    """How many files each step brought through."""
    rows = (
        (render_code(step["step"]), step["kind"], str(step["tried"]), str(step["landed"]), str(step["first_try"]))
        for step in report["rungs"]
    )
    return render_markdown_table("By step", ("step", "kind", "tried on", "landed", "at the first try"), rows)


def render_revisions(report: Mapping[str, Any]) -> str:
    """How the recipe changed on the way."""
    lines = []
    for place, one in enumerate(report["revisions"], start=2):
        lines.append(_revision(place, one))
    return "\n".join(("### Revisions of the recipe", "", *lines)) if lines else ""


def _revision(number: int, revision: Mapping[str, Any]) -> str:
    if revision["by"]:
        by = f" by {escape_markdown(revision['by'])}"
    else:
        by = ""
    return (
        f"- {number}: `{revision['revision']}`{by}, {revision['files']} file{'s' * (revision['files'] != 1)} done again"
    )


def render_invariants(rules: Iterable[Mapping[str, Any]]) -> str:
    """What had to hold of every file that landed, beside the tests."""
    lines = list(map(_invariant, rules))
    return "\n".join(("### Invariants", "", *lines)) if lines else ""


def _invariant(rule: Mapping[str, Any]) -> str:
    details = ", ".join(f"{name} {render_code(str(value))}" for name, value in rule.items() if name != "kind")
    return f"- {rule.get('kind', '')}{f': {details}' if details else ''}"


def _not_landed(files: Iterable[Mapping[str, Any]]) -> str:
    rest = [file for file in files if file["status"] != "merged"]
    if not rest:
        return ""
    return "\n".join((f"### Not landed ({len(rest)})", "", *_entries(rest)))


def _entries(files: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for file in files[:_FILES]:
        if file["reason"]:
            reason = f": {escape_markdown(file['reason'])}"
        else:
            reason = ""
        yield f"- {format_code_span(to_one_line(file['path']))} {file['status']}{reason}"
    if len(files) > _FILES:
        yield f"- and {len(files) - _FILES} more"

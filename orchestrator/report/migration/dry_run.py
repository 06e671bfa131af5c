"""The report of a dry run: its models, lines for a terminal, and Markdown. Words from elsewhere are inert."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from orchestrator.domain.migration.file_counts import FileCounts
from orchestrator.domain.migration.files import FileStatus, SitePlace
from orchestrator.domain.text.listing import join_limited, limit_lines
from orchestrator.domain.text.sanitization import sanitize_markdown, strip_controls, to_one_line
from orchestrator.report.read_model import Document, ReadModel
from orchestrator.report.text.html_templates import render_table
from orchestrator.report.text.markdown import join_sections, render_markdown_list, render_markdown_table

DryRunFileStatus = Literal["changed", "unchanged", "restored", "skipped", "not-tried", "nothing-to-do"]


class FileAndSiteCount(ReadModel):
    """A number of files, and of their sites."""

    files: int
    sites: int


class DryRunStep(ReadModel):
    """A step; `not_tried` is the reason why it was not, or empty. The numbers are of files.

    `restored` were put back by the step's own harness, `refused` afterwards by a rule. `cached` are results of earlier
    runs.
    """

    id: str
    kind: str
    when: str
    not_tried: str
    files: int
    changed: int
    unchanged: int
    restored: int
    refused: int
    cached: int
    seconds: float


class DryRunShard(ReadModel):
    """A shard; `added` and `removed` are lines."""

    name: str
    owner: str
    files: int
    sites: int
    changed: int
    added: int
    removed: int


class DryRunFile(ReadModel):
    """A file; `left` are the sites that would remain in it, `added` and `removed` are lines."""

    path: str
    status: DryRunFileStatus
    shard: str
    owner: str
    step: str
    sites: int
    left: tuple[SitePlace, ...]
    added: int
    removed: int
    reason: str
    signature: str


class DryRunSignature(ReadModel):
    """The number of files that were put back for the same reason."""

    signature: str
    files: int


class DryRunGate(ReadModel):
    """The gate's verdict on all changes together: the names of tests, and problems in words."""

    green: bool
    new_failures: tuple[str, ...]
    missing_tests: tuple[str, ...]
    newly_skipped: tuple[str, ...]
    fixed: tuple[str, ...]
    problems: tuple[str, ...]
    unsettled: tuple[str, ...]


class DryRunReport(Document, schema="orchestrate.dry-run/1"):
    """The result of a dry run. `exit` is the exit code; `remaining` is None where the recipe counts no sites.

    `outcome` counts the files that were tried by what would become of them if all that changed landed, and no later
    step took what failed; and those that have nothing to do.
    """

    migration: str
    title: str
    revision: str
    base: str
    exit: int
    unsafe: bool
    found: FileAndSiteCount
    tried: FileAndSiteCount
    changed: int
    added: int
    removed: int
    remaining: int | None
    outcome: dict[FileStatus, int]
    steps: tuple[DryRunStep, ...]
    shards: tuple[DryRunShard, ...]
    files: tuple[DryRunFile, ...]
    alike: tuple[DryRunSignature, ...]
    gate: DryRunGate | None
    notices: tuple[str, ...]
    diff: str | None


_LINES = 40
_NAMES = 10
_LINE_CHARS = 300
_DIFF_CHARS = 60_000
_COLORS = {True: "green", False: "RED"}


def render_dry_run_lines(report: DryRunReport) -> Iterator[str]:
    """Yield the whole report for a terminal; the diff last, if it was asked for."""
    yield f"{to_one_line(report.title)}: a dry run at {report.base[:12]}; nothing has landed, nothing is kept"
    yield f"  {_format_scope(report)}"
    yield f"  {_format_changes(report)}"
    for text in report.notices:
        yield f"  note: {to_one_line(text)}"
    for step in report.steps:
        yield f"step {step.id} ({step.kind}): {_format_step(step)}"
    for name, result in _iterate_shards(report):
        yield f"shard {name}: {result}"
    yield from _render_section("put back", list(map(_format_restored, _list_restored(report))))
    yield from _render_section("by signature", [f"{one.files} × {one.signature}" for one in report.alike])
    yield from _render_section("sites that would remain", list(_iterate_remaining_sites(report)))
    if report.gate:
        yield from _render_gate(report.gate)
    if report.diff:
        yield ""
        yield report.diff.rstrip("\n")


def render_dry_run_markdown(report: DryRunReport) -> str:
    """Return the same under one heading, for the body of an issue or a pull request."""
    return join_sections(
        f"## {sanitize_markdown(to_one_line(report.title))}: a dry run",
        f"{_format_scope(report)}. **{_format_changes(report)}** Base `{report.base}`, recipe `{report.revision}`.",
        _render_list("Noticed", report.notices),
        render_markdown_table(
            "Steps", ("step", "kind", "result"), ((step.id, step.kind, _format_step(step)) for step in report.steps)
        ),
        render_markdown_table("Shards", ("shard", "result"), _iterate_shards(report)),
        render_table("Put back", _list_restored(report), {"file": "path", "step": "step", "why": "reason"}),
        render_table("Failures alike", report.alike, {"files": "files", "signature": "signature"}),
        _render_list("Sites that would remain", list(_iterate_remaining_sites(report))),
        _render_gate_section(report.gate),
        _render_diff(report.diff),
    )


def _format_scope(report: DryRunReport) -> str:
    sites = "" if report.remaining is None else f" with {report.found.sites} sites"
    return f"{report.found.files} files in scope{sites}; {report.tried.files} of them were tried"


def _format_changes(report: DryRunReport) -> str:
    left = "" if report.remaining is None else f", {report.tried.sites} sites → {report.remaining}"
    rest = _format_rest(report)
    if not report.changed:
        return f"no step changes anything{left}{rest}."
    return f"{report.changed} files would change, +{report.added} -{report.removed} lines{left}{rest}."


def _format_rest(report: DryRunReport) -> str:
    """Return what would become of the other files; nothing where steps that were not tried have a say in that."""
    counts = FileCounts(report.outcome)
    if any(step.not_tried for step in report.steps) or counts.landed == counts.in_scope:
        return ""
    return f"; {counts.describe_rest()}, {counts.nothing_to_do} with nothing to do"


def _format_step(step: DryRunStep) -> str:
    if step.not_tried:
        return f"not tried, since {step.not_tried}"
    words = f"{step.changed} changed, {step.unchanged} left as they were, {step.restored} put back"
    if step.refused:
        words += f", {step.refused} put back by a rule"
    if step.cached:
        words += f"; {step.cached} known from earlier runs"
    return f"{step.files} files: {words}"


def _iterate_shards(report: DryRunReport) -> Iterator[tuple[str, str]]:
    for shard in report.shards:
        if shard.changed:
            yield shard.name, f"{shard.changed} of {shard.files} files, +{shard.added} -{shard.removed}"


def _list_restored(report: DryRunReport) -> list[DryRunFile]:
    return [file for file in report.files if file.status == "restored"]


def _format_restored(file: DryRunFile) -> str:
    return f"{file.path} (step {file.step}): {file.reason}"


def _iterate_remaining_sites(report: DryRunReport) -> Iterator[str]:
    for file in report.files:
        for place in file.left:
            yield f"{file.path}:{place.line}:{place.column}: {place.site}"


def _render_gate(gate: DryRunGate) -> Iterator[str]:
    yield f"the gate on all changes together: {_COLORS[gate.green]}"
    yield from _render_names(gate.new_failures, "fail with it")
    yield from _render_names(gate.missing_tests, "are missing with it")
    yield from _render_names(gate.newly_skipped, "are skipped with it")
    yield from _render_names(gate.unsettled, "say now this, now that")
    yield from _render_names(gate.problems, "speak against it")


def _render_names(names: Sequence[str], words: str) -> Iterator[str]:
    if names:
        yield f"  {len(names)} {words}: {to_one_line(join_limited(names, _NAMES))}"


def _render_section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
    for line in limit_lines(lines, _LINES, "and {count} more; --json has all of them"):
        yield f"  {to_one_line(line, _LINE_CHARS)}"


def _render_list(title: str, lines: Sequence[str]) -> str:
    return render_markdown_list(title, [sanitize_markdown(to_one_line(line, _LINE_CHARS)) for line in lines], _LINES)


def _render_gate_section(gate: DryRunGate | None) -> str:
    if gate is None:
        return ""
    text = "\n".join(_render_gate(gate))
    return f"### The gate\n\n{sanitize_markdown(text)}"


def _render_diff(diff: str | None) -> str:
    """Return the diff in a block that nothing in it can end; a long one is cut at a line."""
    if not diff:
        return ""
    text = strip_controls(diff)
    if len(text) > _DIFF_CHARS:
        text = text[:_DIFF_CHARS].rpartition("\n")[0] + "\n[cut here: the rest is not shown]"
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"### Diff\n\n{fence}diff\n{text.rstrip()}\n{fence}"

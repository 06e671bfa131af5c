"""Render a burndown in lines for a person."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.domain.migration.file_counts import FileCounts
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.text.durations import format_seconds, format_short_duration
from orchestrator.domain.text.listing import add_lead, format_count, limit_lines
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.migration import burndown_model
from orchestrator.report.run.summary import format_reason

_ROWS = 10
_NAME_CHARS = 32
_REASON_CHARS = 60
_SIGNATURE_CHARS = 120
_PATHS_CHARS = 200
_FLAG_EXAMPLES = 3
_SPARKLINE_WIDTH = 24
_OPEN_STATUSES = (
    *(FileStatus.TRANSFORMED, FileStatus.RESTORED, FileStatus.EJECTED),
    *(FileStatus.SKIPPED, FileStatus.REVERTED, FileStatus.DISCOVERED),
)
"""The states of files that neither landed nor failed for good."""


@dataclass(frozen=True)
class BurndownGlyphs:
    """The characters of the lines: the steps of a bar from none to full, the sign for left-out words,
    and the mark of what did not land.
    """

    bars: str = "▁▂▃▄▅▆▇█"
    more: str = "…"
    cross: str = "✗"


UNICODE_GLYPHS = BurndownGlyphs()
ASCII_GLYPHS = BurndownGlyphs(bars="_.:-=+*#", more="...", cross="x")


def render_burndown_lines(
    burndown: burndown_model.BurndownFields, glyphs: BurndownGlyphs = UNICODE_GLYPHS
) -> Iterator[str]:
    """Yield how far the migration is, what is behind, what fails alike, what waits for a person, and what is next."""
    yield render_burndown_headline(burndown, glyphs)
    yield render_files_line(burndown)
    for number, revision in enumerate(burndown.revisions, start=2):
        yield f"  revision {number}: {_format_revision(revision)}"
    if burndown.has_owners:
        yield from render_group_table("owner", burndown.owners, glyphs)
    yield from render_group_table("directory", burndown.directories, glyphs)
    yield from _render_steps(burndown)
    yield from _render_signatures(burndown, glyphs)
    for flag in burndown.flags:
        yield _format_flag(flag)
    yield from render_waiting_lines(burndown)


def render_burndown_headline(burndown: burndown_model.BurndownFields, glyphs: BurndownGlyphs = UNICODE_GLYPHS) -> str:
    """Return `unittest-to-pytest  rev 3  sites 1590 -> 65  ▇▆▄▂▁`."""
    now = burndown.now
    curve = render_sparkline([point.sites for point in burndown.series], glyphs)
    goal = f" (target {format_weight(now.target)})" if now.target else ""
    counted = f"{burndown.unit} {format_weight(now.found)} -> {format_weight(now.remaining)}{goal}"
    return f"{to_one_line(burndown.title)}  rev {burndown.revision}  {counted}  {curve}".rstrip()


def render_sparkline(
    values: Sequence[float], glyphs: BurndownGlyphs = UNICODE_GLYPHS, width: int = _SPARKLINE_WIDTH
) -> str:
    """Return a curve of one line; its highest value is a full bar, zero an empty one. Empty without values."""
    top = max(values, default=0.0)
    if top <= 0:
        return ""
    shown = min(len(values), width)
    bars = []
    for place in range(shown):
        value = values[round(place * (len(values) - 1) / max(shown - 1, 1))]
        bars.append(glyphs.bars[round(value / top * (len(glyphs.bars) - 1))])
    return "".join(bars)


def render_files_line(burndown: burndown_model.BurndownFields) -> str:
    """Return files by what became of them, when the rest will be through, and what it cost."""
    spent = burndown.spent
    parts = [f"  files {burndown.merged_files}/{burndown.concerned_files} landed"]
    files = burndown.now.files
    ended = FileCounts({status: count for status, count in files.items() if status.is_terminal})
    if ended.failed:
        parts.append(ended.describe_failed())
    for status in _OPEN_STATUSES:
        if files.get(status):
            parts.append(f"{files[status]} {status.word}")
    if burndown.eta is not None:
        parts.append(_format_eta(burndown.eta))
    parts += [f"cost {spent.price}", f"{spent.test_runs} test runs"]
    return "  ".join(parts)


def _format_eta(eta: burndown_model.EtaSummary) -> str:
    least, most = format_short_duration(eta.low_s), format_short_duration(eta.high_s)
    return f"ETA {format_short_duration(eta.seconds)} ({least} to {most} of work)"


def _format_revision(revision: burndown_model.RevisionSummary) -> str:
    by = add_lead(" by ", to_one_line(revision.by))
    return f"recipe {revision.revision}{by}, {format_count(revision.files, 'file')} done again"


def render_group_table(
    kind: str, groups: Sequence[burndown_model.GroupSummary], glyphs: BurndownGlyphs = UNICODE_GLYPHS, rows: int = _ROWS
) -> Iterator[str]:
    """Yield a table of groups, the first `rows` of them; nothing without a group."""
    if not groups:
        return
    width = len(kind)
    for group in groups[:rows]:
        width = max(width, len(to_one_line(group.name)))
    width = min(width, _NAME_CHARS)
    yield f"  {kind:{width}}  files  done     %   left   failed  PRs  s/file             cost  top reason"
    lines = [_format_group(group, width, glyphs) for group in groups]
    yield from limit_lines(lines, rows, f"  {glyphs.more} and {{count}} more")


def _format_group(group: burndown_model.GroupSummary, width: int, glyphs: BurndownGlyphs) -> str:
    files = f"{group.files:5}  {group.done:4}  {group.share * 100:3.0f}%  {format_weight(group.sites_left):>5}"
    cost = f"{group.rejected:7}  {group.prs:3}  {format_seconds(group.p50_s):>6}  {group.price:>15}"
    name, reason = _truncate_line(group.name, width, glyphs), _truncate_line(group.top_reason, _REASON_CHARS, glyphs)
    return f"  {name:{width}}  {files}  {cost}  {reason}".rstrip()


def _render_steps(burndown: burndown_model.BurndownFields) -> Iterator[str]:
    parts = []
    for step in burndown.rungs:
        later = ""
        if step.later_try:
            later = f" ({step.later_try} not at the first try)"
        if step.tried:
            parts.append(f"{step.step} {step.landed} of {step.tried}{later}")
    if parts:
        yield f"  landed by step: {', '.join(parts)}"


def _render_signatures(burndown: burndown_model.BurndownFields, glyphs: BurndownGlyphs) -> Iterator[str]:
    lines = [_format_signature(summary, glyphs) for summary in burndown.signatures]
    yield from limit_lines(lines, _ROWS, f"  {glyphs.more} and {{count}} more reasons")


def _format_signature(summary: burndown_model.SignatureSummary, glyphs: BurndownGlyphs) -> str:
    paths = to_one_line(", ".join(summary.examples), _PATHS_CHARS)
    if summary.files > len(summary.examples):
        paths += f" {glyphs.more}"
    signature = _truncate_line(summary.signature, _SIGNATURE_CHARS, glyphs)
    return f"  {format_count(summary.files, 'file')} failed: {signature} ({paths})"


def _format_flag(flag: burndown_model.FlagSummary) -> str:
    paths = to_one_line(", ".join(flag.examples[:_FLAG_EXAMPLES]), _PATHS_CHARS)
    return f"  flagged {to_one_line(flag.flag)}: {format_count(flag.files, 'file')} ({paths})"


def render_waiting_lines(burndown: burndown_model.BurndownFields) -> Iterator[str]:
    """Yield the questions that wait for a person, the pull requests, and what can be done next."""
    for question in burndown.waiting:
        yield f"  waits for you: {format_reason(question.title)} ({question.item})"
    for pr in burndown.prs:
        yield f"  pull request {to_one_line(pr.group)}: {to_one_line(pr.url)}"
    if burndown.next:
        yield f"  next: {burndown.next}"


def format_weight(value: float) -> str:
    """Return `12`, `1.5`, `1,204`."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def _truncate_line(text: str, width: int, glyphs: BurndownGlyphs) -> str:
    line = to_one_line(text)
    if len(line) <= width:
        return line
    return line[: width - len(glyphs.more)] + glyphs.more

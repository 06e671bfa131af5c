"""Digests of reports: what became of many tasks in a text of bounded length.

Reports stand there whole as long as they all fit. Else a line for each slice comes first, then details of the tasks
that need a look, then a line for each of the others, as far as there is room.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.ids import ROOT_TASK, TaskId
from orchestrator.domain.run.task import Handoff
from orchestrator.domain.text.listing import format_count
from orchestrator.ports.roles import TaskReport
from prompts import fence_text

_SLICES_SHARE = 1 / 4
_DETAILS_SHARE = 2 / 3
"""Shares of what is left of the digest that slices and details may take."""
_SAID_CHARS = 600
_OUTCOME_CHARS = 160
_SHORT_CHARS = 300
_SHORT_ITEMS = 3
_REST_CHARS = 40
"""Room for the line that says how many more there are."""
_REWORKED_ATTEMPTS = 2
"""A task that was tried so often was sent back before it landed."""


@dataclass(frozen=True)
class ReportForm:
    """The form of the reports in a digest.

    `format_report` writes one of them, `claims_label` marks what planners and workers say, `hint` tells how what is
    left out can be read.
    """

    format_report: Callable[[TaskReport], str]
    claims_label: str
    hint: str = ""


def format_report_digest(reports: Sequence[TaskReport], limit: int, form: ReportForm) -> str:
    """Return what became of tasks in at most `limit` characters, however many there are; whole reports if they fit."""
    whole = "\n\n".join(map(form.format_report, reports))
    if len(whole) <= limit:
        return whole
    text = _BoundedText(limit)
    text.add_part(" ".join(filter(None, (f"{_count_statuses(reports)}. This is a digest.", form.hint)))[:limit])
    _add_slices(text, _group_by_slice(reports), form)
    detailed = _add_details(text, list(filter(_needs_look, reports)), form)
    _add_lines(text, [report for report in reports if report.task.id not in detailed])
    return text.join_parts()


def _needs_look(report: TaskReport) -> bool:
    """Return True if a task did not land, was sent back before it did, or left something open."""
    return _rank_need(report) < _NO_NEED


_NO_NEED = 3


def _rank_need(report: TaskReport) -> int:
    """Return 0 for a task whose details matter most."""
    if not report.status.is_reached:
        return 0
    if report.handoff and (report.handoff.remaining or report.handoff.concerns):
        return 1
    if report.attempts >= _REWORKED_ATTEMPTS:
        return 2
    return _NO_NEED


@dataclass
class _BoundedText:
    """Parts that together, with a blank line between them, have at most `limit` characters."""

    limit: int
    _parts: list[str] = field(default_factory=list)
    _used: int = 0

    @property
    def remaining_chars(self) -> int:
        """The characters that one more part may have."""
        return max(self.limit - self._used - 2 * bool(self._parts), 0)

    def add_part(self, part: str) -> bool:
        """Add a part if there is room for it, and return True then."""
        if not part or len(part) > self.remaining_chars:
            return False
        self._used += len(part) + 2 * bool(self._parts)
        self._parts.append(part)
        return True

    def join_parts(self) -> str:
        return "\n\n".join(self._parts)


# --- slices --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Slice:
    """A planner's slice with the reports below it; `own` is the report of its planner, if that is among them."""

    name: TaskId
    own: TaskReport | None
    reports: list[TaskReport] = field(default_factory=list)


def _group_by_slice(reports: Sequence[TaskReport]) -> Sequence[_Slice]:
    """Return the uppermost slices of the reports, in order; tasks beside them belong to the planner above."""
    depth = min(report.task.depth for report in reports)
    slices: dict[TaskId, _Slice] = {}
    for report in reports:
        if report.task.kind == "branch" and report.task.depth == depth:
            slices[report.task.id] = _Slice(report.task.id, report)
    for report in reports:
        name = TaskId("/".join(report.task.id.split("/")[:depth]))
        if name not in slices:
            name = report.task.parent or ROOT_TASK
        if report.task.id != name:
            slices.setdefault(name, _Slice(name, None)).reports.append(report)
    return list(slices.values())


def _add_slices(text: _BoundedText, slices: Sequence[_Slice], form: ReportForm) -> None:
    room = int(text.remaining_chars * _SLICES_SHARE)
    lines = fit_lines(map(_format_slice_line, slices), room // 2, "slices")
    text.add_part("\n".join(lines))
    summaries = {one.name: _format_handoff_line(one.own.handoff) for one in slices if one.own and one.own.handoff}
    if summaries:
        text.add_part(_fence_claims(summaries, room // 2, form.claims_label))


def _format_slice_line(one: _Slice) -> str:
    """Return how a slice stands: `storage (The storage layer): done; 84 tasks below it: 80 merged, 4 rejected`."""
    if one.own is None:
        return f"directly below {one.name}: {_count_statuses(one.reports)}"
    line = f"{one.name} ({one.own.task.title}): {one.own.status}"
    if one.reports:
        line += f"; below it {_count_statuses(one.reports)}"
    return line


def _count_statuses(reports: Sequence[TaskReport]) -> str:
    counts = Counter(str(report.status) for report in reports)
    words = [f"{count:,} {status}" for status, count in counts.most_common()]
    return f"{format_count(len(reports), 'task')}: {', '.join(words)}"


def _format_handoff_line(handoff: Handoff) -> str:
    """Return a handoff in one line."""
    parts = [handoff.summary]
    if handoff.remaining:
        parts.append(f"remaining: {'; '.join(handoff.remaining)}")
    if handoff.concerns:
        parts.append(f"concerns: {'; '.join(handoff.concerns)}")
    return " ".join(" | ".join(parts).split())


def _fence_claims(summaries: Mapping[TaskId, str], room: int, label: str) -> str:
    share = min(room // len(summaries), _SAID_CHARS)
    lines = [f"{name}: {cut_text(words, share - len(name))}" for name, words in summaries.items()]
    return f"What their planners say\n{fence_text(label, chr(10).join(fit_lines(lines, room, 'slices')))}"


# --- single tasks --------------------------------------------------------------------------------------------------


def _add_details(text: _BoundedText, reports: Sequence[TaskReport], form: ReportForm) -> frozenset[TaskId]:
    """Add the reports that need a look, shortened if that makes more of them fit; return those that stand there."""
    room = int(text.remaining_chars * _DETAILS_SHARE)
    ordered = sorted(reports, key=_rank_need)
    parts = list(map(form.format_report, ordered))
    if sum(map(len, parts)) + 2 * len(parts) > room:
        parts = [form.format_report(_shorten_report(report)) for report in ordered]
    detailed: set[TaskId] = set()
    for report, part in zip(ordered, parts, strict=True):
        if len(part) <= room and text.add_part(part):
            detailed.add(report.task.id)
            room -= len(part) + 2
    return frozenset(detailed)


def _shorten_report(report: TaskReport) -> TaskReport:
    task = report.task.model_copy(
        update={
            "outcome": cut_text(report.task.outcome, _SHORT_CHARS),
            "acceptance": _shorten_items(report.task.acceptance),
        }
    )
    changes: dict[str, object] = {"task": task, "reason": cut_text(report.reason, 2 * _SHORT_CHARS)}
    changes["verdicts"] = _shorten_items(report.verdicts[-2 * _SHORT_ITEMS :], 2 * _SHORT_ITEMS)
    changes["paths"] = report.paths[:_SHORT_ITEMS]
    if report.handoff:
        summary = cut_text(report.handoff.summary, _SHORT_CHARS)
        remaining, concerns = _shorten_items(report.handoff.remaining), _shorten_items(report.handoff.concerns)
        changes["handoff"] = Handoff(summary=summary, remaining=remaining, concerns=concerns)
    return report.model_copy(update=changes)


def _shorten_items(items: Iterable[str], count: int = _SHORT_ITEMS) -> tuple[str, ...]:
    return tuple(cut_text(item, _SHORT_CHARS) for item in tuple(items)[:count])


def _add_lines(text: _BoundedText, reports: Sequence[TaskReport]) -> None:
    """Add a line for each report: with its outcome if all of them fit so, else as short as is needed.

    Where not even short ones fit, those that need a look come first.
    """
    title = "The other tasks\n"
    room = text.remaining_chars - len(title)
    for format_line in (_format_outcome_line, _format_title_line, _format_short_line):
        lines = list(map(format_line, reports))
        if sum(map(len, lines)) + len(lines) <= room:
            break
    else:
        lines = list(map(_format_short_line, sorted(reports, key=_rank_need)))
    text.add_part(title + "\n".join(fit_lines(lines, room, "tasks")))


def _format_outcome_line(report: TaskReport) -> str:
    return f"{_format_title_line(report)}: {cut_text(report.task.outcome, _OUTCOME_CHARS)}"


def _format_title_line(report: TaskReport) -> str:
    return f"{_format_short_line(report)} ({cut_text(report.task.title, _OUTCOME_CHARS)})"


def _format_short_line(report: TaskReport) -> str:
    cause = f" ({report.cause})" * bool(report.cause)
    return f"{report.task.id}: {report.status}{cause}"


def fit_lines(lines: Iterable[str], room: int, noun: str) -> Sequence[str]:
    """Return the first lines that fit into `room` characters, and how many more there are."""
    every = list(lines)
    if sum(map(len, every)) + len(every) <= room:
        return every
    used, kept = _REST_CHARS, list[str]()
    for line in every:
        used += len(line) + 1
        if used > room:
            break
        kept.append(line)
    return [*kept, f"and {len(every) - len(kept):,} more {noun}"]


def cut_text(text: str, limit: int) -> str:
    """Return the text in one line of at most `limit` characters."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    return line[: max(limit - 1, 0)] + "…"

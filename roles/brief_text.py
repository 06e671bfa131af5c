"""The texts of briefs: contracts, reports, handoffs and lists as they stand in a prompt, and parts that share room."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from orchestrator.domain.judging.forge_check import ForgeCheck, format_check_lines
from orchestrator.domain.ownership.decisions import Decision
from orchestrator.domain.run.contract import Contract
from orchestrator.domain.run.person_review import PersonReview
from orchestrator.domain.run.task import Handoff, Task
from orchestrator.domain.text.listing import join_limited
from orchestrator.domain.text.truncation import truncate_text
from orchestrator.ports.roles import CheckSummary, TaskReport
from prompts import fence_text

_LEAST_PART_CHARS = 200
"""Beside its lead a part has at least so much."""
_LEFT_OUT = "Left out here for want of room: {names}. `recall` and your other tools show it."
_NO_LIMIT = 10**9


def format_bullets(items: Iterable[str], empty: str = "- (nothing)") -> str:
    """Return a Markdown list, or `empty`."""
    return "\n".join(f"- {item}" for item in items) or empty


def format_contract(contract: Contract, met: Collection[str] = ()) -> str:
    """Return the criteria with their ids and commands, and which of them were `met` before anything changed."""
    lines = []
    for criterion in contract.criteria:
        line = f"{criterion.id}: {criterion.text}"
        if criterion.command:
            line += f" (checked by `{criterion.command}`)"
        if criterion.id in met:
            line += " (met already, and to stay so)"
        lines.append(line)
    return format_bullets(lines)


def format_check_summaries(checks: Iterable[CheckSummary]) -> str:
    """Return receipts in words."""
    return format_bullets(
        (f"{check.check}: {check.result} (receipt {check.receipt})" for check in checks), "- (no check ran)"
    )


def format_forge_checks(checks: Iterable[ForgeCheck], limit: int) -> str:
    """Return what the forge's checks say, as data: what they print can come from the very code that they test.

    A list of more than `limit` characters loses its middle.
    """
    lines = format_check_lines(tuple(checks))
    if not lines:
        return ""
    return f"The forge's checks on the pull request\n{fence_text('forge', cut_list(format_bullets(lines), limit))}"


def cut_list(text: str, limit: int) -> str:
    """Return a list as it is, or without its middle if it has more than `limit` characters."""
    if len(text) <= limit:
        return text
    return truncate_text(text, limit).text


def format_review(review: PersonReview) -> str:
    """Return what a person says of a change: the note, then each comment with its place and the line itself."""
    parts = [review.note] if review.note else []
    for comment in review.comments:
        place = f"{comment.path}:{comment.line}"
        if comment.line_text:
            place += f" `{comment.line_text.strip()}`"
        parts.append(f"{place}: {comment.text}")
    return "\n".join(parts)


def format_slice(task: Task) -> str:
    """Return all that a planner wrote of the slice that it gave to a sub-planner; for the root it is the goal alone."""
    parts = [
        task.outcome,
        *_build_section("It is finished when", task.acceptance),
        *_build_section("Paths it is expected to change", task.paths),
        *_build_section("To be left alone", task.non_goals),
        *_build_section("Yours alone to decide", task.decisions),
    ]
    return "\n".join(parts)


def format_planner_report(report: TaskReport) -> str:
    """Return what became of a task, for its planner; reasons and the words of its worker are fenced as data."""
    more: list[str] = []
    if report.clashes:
        more.append(fence_text("clashes", "\n".join(report.clashes)))
    if report.kept:
        more.append(f"its work is kept as {report.kept}, for people: no task can see it")
    return _format_report(report, more, "report")


def format_judge_report(report: TaskReport) -> str:
    """Return what became of a task, for a judge: what was asked for, and what its worker says only as claims."""
    wanted = (report.task.outcome, *_build_section("accepted when", report.task.acceptance))
    text = _format_report(report, wanted, "claims")
    if report.verdicts:
        text += "\n" + fence_text("verdicts", "\n".join(report.verdicts))
    return text


def format_decisions(decisions: Iterable[Decision]) -> str:
    """Return decisions with their ids and who took them."""
    return format_bullets(map(format_decision, decisions))


def format_decision(decision: Decision) -> str:
    """Return a decision with its id and who took it."""
    return f"{decision.id} ({decision.owner}): {decision.text}"


def format_report_line(report: TaskReport) -> str:
    """Return a task and what became of it in one line; `report.status` in the words that people read."""
    cause = f" ({report.cause})" * bool(report.cause)
    return f"{report.task.id} ({report.task.title}): {report.status.word}{cause}"


def _format_report(report: TaskReport, more: Sequence[str], label: str) -> str:
    """Return the end of a task and `more`; the worker's words are fenced under this label."""
    cause = f" ({report.cause})" * bool(report.cause)
    lines = [f"{report.task.id} ({report.task.title}): {report.status}{cause}"]
    if report.paths:
        lines.append(fence_text("changed", join_limited(report.paths, 20)))
    lines += more
    if report.reason:
        lines.append(fence_text("reason", report.reason))
    if report.handoff:
        lines.append(fence_text(label, format_handoff(report.handoff)))
    return "\n".join(lines)


def format_handoff(handoff: Handoff) -> str:
    """Return a handoff as text."""
    parts = [
        handoff.summary,
        *_build_section("done", handoff.done),
        *_build_section("remaining", handoff.remaining),
        *_build_section("verified", (f"{v.claim} (`{v.command}`)" for v in handoff.verified)),
        *_build_section("believed", handoff.believed),
        *_build_section("deviations", handoff.deviations),
        *_build_section("concerns", handoff.concerns),
        *_build_section("decided", (f"{decision.id}: {decision.text}" for decision in handoff.decided)),
    ]
    return "\n".join(parts)


def _build_section(name: str, items: Iterable[str]) -> tuple[str, ...]:
    lines = [f"- {item}" for item in items]
    if lines:
        return (f"{name}:", *lines)
    return ()


# --- parts that share what room there is ---------------------------------------------------------------------------


@dataclass(frozen=True)
class BriefPart:
    """A part of a brief, which can be shorter where there is little room.

    `name` tells what it is where it is left out, `lead` begins it, `render` writes the rest of it in at most so many
    characters. The greater its `weight`, the more of too little room it gets, and the later it is left out whole.
    """

    name: str
    lead: str
    render: Callable[[int], str]
    weight: int = 1

    def render_text(self, room: int = _NO_LIMIT) -> str:
        """Return the part in at most `room` characters."""
        return self.lead + self.render(room - len(self.lead))


def render_parts(parts: Sequence[BriefPart], room: int) -> str:
    """Return parts with a blank line between them in at most `room` characters; whole if they fit.

    Else those that are too long are shortened. Where that leaves one too little, the least important parts are left
    out, and named at the end.
    """
    sizes = {part.name: len(part.render_text()) + 2 for part in parts}
    kept, missing = list(parts), list[str]()
    left = room
    while True:
        shares = divide_room([sizes[part.name] for part in kept], [part.weight for part in kept], left)
        if all(share >= _find_least(part, sizes[part.name]) for part, share in zip(kept, shares, strict=True)):
            break
        dropped = min(reversed(kept), key=lambda part: part.weight)
        kept.remove(dropped)
        missing.insert(0, dropped.name)
        left = room - len(_LEFT_OUT) - sum(len(name) + 2 for name in missing)
    texts = [part.render_text(share - 2) for part, share in zip(kept, shares, strict=True)]
    if missing:
        texts.append(_LEFT_OUT.format(names=", ".join(missing)))
    return "\n\n".join(texts)


def _find_least(part: BriefPart, size: int) -> int:
    """Return the characters that a part needs to say anything."""
    return min(size, _LEAST_PART_CHARS + len(part.lead))


def divide_room(sizes: Sequence[int], weights: Sequence[int], room: int) -> list[int]:
    """Return how much of the room each gets: what is small gets all that it needs, the others divide the rest."""
    shares, waiting = [0] * len(sizes), set(range(len(sizes)))
    while waiting:
        unit = max(room, 0) / sum(weights[place] for place in waiting)
        small = [place for place in waiting if sizes[place] <= unit * weights[place]]
        for place in small:
            shares[place] = sizes[place]
            room -= sizes[place]
            waiting.remove(place)
        if not small:
            for place in waiting:
                shares[place] = int(unit * weights[place])
            break
    return shares

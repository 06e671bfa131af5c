"""Choosing which of several tasks that try the same lands: by evidence, never by the words of their workers."""

from collections.abc import Sequence

from orchestrator.domain.event.work import RivalChosen
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.review import LensView
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.text.listing import format_count
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.attempt_verdict import read_lens_view
from orchestrator.engine.task_reports import summarize_receipt
from orchestrator.ports.roles import RivalBrief, RivalCandidate, RivalRuling, Roles

_MAX_CHANGES_CHARS = 120_000
"""The most characters of the changes that the judge is shown together."""


async def choose_rival(context: RunContext, roles: Roles, first: TaskId, rivals: Sequence[TaskId]) -> None:
    """Choose one of the tasks that passed; where only one did, or the judge gives no answer, without a judge."""
    if len(rivals) == 1:
        reasons = ("no other task that tries the same passed",)
        await context.journal.append(RivalChosen(task=first, chosen=rivals[0], reasons=reasons))
        return
    states = [context.state.tasks[name] for name in rivals]
    candidates = tuple([await _build_candidate(context, state, len(rivals)) for state in states])
    attempts = sum(len(state.attempts) for state in states)
    brief = RivalBrief(task=context.state.tasks[first].spec, attempts=attempts, candidates=candidates)
    ruling = await roles.judge.choose_rival(brief)
    if not isinstance(ruling, RivalRuling):
        ruling = choose_without_judge(candidates)
    chosen = RivalChosen(task=first, chosen=ruling.chosen, reasons=ruling.reasons, model=ruling.model)
    await context.journal.append(chosen)


def choose_without_judge(candidates: Sequence[RivalCandidate]) -> RivalRuling:
    """Return the choice where the judge gives none: fewest flags, then fewest changed lines, then first in the plan."""
    best = min(candidates, key=_measure_candidate)
    flags, lines = format_count(len(best.flags), "flag"), format_count(best.lines, "line")
    why = "the judge gave no answer that could be read"
    reason = f"{best.task} has the fewest flags and, among those, the smallest change: {flags}, {lines}"
    return RivalRuling(chosen=best.task, reasons=(why, reason))


def _measure_candidate(candidate: RivalCandidate) -> tuple[int, int]:
    return len(candidate.flags), candidate.lines


async def _build_candidate(context: RunContext, state: TaskState, count: int) -> RivalCandidate:
    candidate, given = state.candidate, state.verdict
    if candidate is None or given is None:
        raise ValueError(f"{state.spec.id} has passed without a candidate and a verdict")
    receipts = [one for one in context.list_receipts(given.verdict.receipts) if one.shows_own_tests]
    shown = await read_lens_view(context, LensView.DIFF, state.attempts[-1].base, candidate.commit)
    room, change = _MAX_CHANGES_CHARS // count, context.journal.redact_text(shown.text)
    if len(change) > room:
        change = f"{change[:room]}\n[{len(change) - room} more characters are not shown]"
    return RivalCandidate(
        task=state.spec.id,
        checks=tuple(map(summarize_receipt, receipts)),
        flags=given.verdict.flags,
        files=len(candidate.paths),
        lines=candidate.added + candidate.removed,
        change=change,
    )

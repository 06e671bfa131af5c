"""Read the judged decisions out of one run: what was sent back and why, under which prompt, on which model."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.work import VerdictGiven
from orchestrator.domain.ids import ROOT_TASK, build_review_session_id, build_work_session_id
from orchestrator.domain.judging.verdict import VerdictKind
from orchestrator.domain.run.session_state import SessionState
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Attempt, EndCause, Exit
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.judging.lens_accuracy import VETOES, VoteOutcome
from orchestrator.report.task.attempt_fates import get_attempt_fates
from orchestrator.retro.decisions import CauseKind, DecisionCause, DecisionFault, DecisionOutcome, JudgedDecision
from orchestrator.retro.journal_index import JournalIndex

_EXCERPT_CHARS = 400
_NOT_THE_PROMPT = frozenset(
    {
        *(EndCause.CONFLICT, EndCause.RED_TOGETHER, EndCause.CANCELLED, EndCause.BUDGET_SPENT, EndCause.DEPENDENCY),
        *(EndCause.WITHDRAWN, EndCause.REPLACED, EndCause.LEFT_BEHIND, EndCause.NOT_CHOSEN, EndCause.UNFINISHED),
        EndCause.NO_ATTEMPT_LEFT,
    }
)
"""Causes that say nothing about the words of a prompt; `unfinished` is told by the session's end."""
_TELLING_EXITS = frozenset({Exit.STUCK, Exit.MALFORMED, Exit.OUT_OF_TURNS, Exit.OUT_OF_CONTEXT})
ESCAPED_APPROVAL = DecisionCause(kind=CauseKind.REVIEW, name="escaped-approval")
FALSE_VETO = DecisionCause(kind=CauseKind.REVIEW, name="false-veto")
REFUSED_PLAN = DecisionCause(kind=CauseKind.PLAN, name="refused")


def read_decisions(
    state: RunState, events: Sequence[RecordedEvent], names: Mapping[str, str]
) -> tuple[JudgedDecision, ...]:
    """Return the judged decisions of a run.

    Args:
        state: what `events` fold to; it has begun.
        events: the whole journal.
        names: the prompts that are known, by the sha of their wording.
    """
    index = JournalIndex(names, is_migration=state.run.recipe is not None)
    index.record_events(events)
    reading = _RunReading(state, index)
    return (*reading.iterate_attempts(), *reading.iterate_votes(), *reading.iterate_plans())


class _RunReading:
    """The reading of one run."""

    def __init__(self, state: RunState, index: JournalIndex) -> None:
        self._state = state
        self._index = index
        recipe = state.run.recipe or {}
        self._recipe = str(recipe.get("name", ""))

    def iterate_attempts(self) -> Iterator[JudgedDecision]:
        """Yield the attempts of workers and of the arbiter."""
        for task in self._state.tasks.values():
            fates = get_attempt_fates(task)
            for attempt in task.attempts:
                session = self._state.sessions.get(build_work_session_id(task.spec.id, attempt.number))
                if session is None:
                    continue
                faults = (*self._find_work_faults(attempt), *self._find_violations(attempt))
                outcome = self._decide_outcome(task, attempt, fates.get(attempt.number) == "landed")
                yield self._build_decision(session, attempt.number, outcome, faults).model_copy(
                    update={"variant": attempt.variant, "base": attempt.base}
                )

    def iterate_votes(self) -> Iterator[JudgedDecision]:
        """Yield the votes of lenses, held against what became of the changes."""
        for held in self._index.vote_log.iterate_vote_outcomes(self._state, lambda _task: True):
            session = self._state.sessions.get(build_review_session_id(held.task, held.number, held.vote.lens))
            if session is None or held.vote.decision == "unreadable":
                continue
            seq = self._index.votes.get((held.task, held.number, held.vote.lens), 0)
            faults = tuple(_find_vote_faults(held, seq))
            yield self._build_decision(session, held.number, _judge_vote(held), faults)

    def iterate_plans(self) -> Iterator[JudgedDecision]:
        """Yield the rounds of planners."""
        for name, session in self._state.sessions.items():
            if self._index.uses[name].name != "planner" or session.ended != Exit.FINISHED:
                continue
            faults = []
            for seq, refused in self._index.refusals.get(name, ()):
                words = to_one_line("; ".join(refused.problems), _EXCERPT_CHARS)
                faults.append(DecisionFault(cause=REFUSED_PLAN, seq=seq, text=words))
            outcome: DecisionOutcome = "landed"
            if faults:
                outcome = "sent-back"
            yield self._build_decision(session, session.attempt, outcome, tuple(faults))

    def _build_decision(
        self, session: SessionState, number: int, outcome: DecisionOutcome, faults: tuple[DecisionFault, ...]
    ) -> JudgedDecision:
        return JudgedDecision(
            run=self._state.run.run,
            use=self._index.uses[session.session],
            model=session.model,
            variant=None,
            task=session.task or ROOT_TASK,
            number=number,
            session=session.session,
            outcome=outcome,
            faults=faults,
            spent=session.spent,
            recipe=self._recipe,
        )

    def _decide_outcome(self, task: TaskState, attempt: Attempt, has_landed: bool) -> DecisionOutcome:
        if any(given.verdict.kind != VerdictKind.MERGE for given in self._list_verdicts(attempt)):
            return "sent-back"
        _, end = self._index.ends.get((task.spec.id, attempt.number), (0, None))
        if end is not None and end.exit in _TELLING_EXITS:
            return "sent-back"
        if has_landed:
            return "landed"
        return "open"

    def _list_verdicts(self, attempt: Attempt) -> list[VerdictGiven]:
        return [given for _, given in self._index.verdicts.get((attempt.task, attempt.number), ())]

    def _find_work_faults(self, attempt: Attempt) -> Iterator[DecisionFault]:
        seq, end = self._index.ends.get((attempt.task, attempt.number), (0, None))
        if end is not None and end.exit in _TELLING_EXITS:
            cause = DecisionCause(kind=CauseKind.EXIT, name=end.exit.value)
            yield DecisionFault(cause=cause, seq=seq, text=to_one_line(end.detail, _EXCERPT_CHARS))
            return
        for seq, given in self._index.verdicts.get((attempt.task, attempt.number), ()):
            yield from _find_verdict_faults(seq, given)

    def _find_violations(self, attempt: Attempt) -> Iterator[DecisionFault]:
        for found in self._state.unapproved_violations:
            if (found.task, found.attempt) == (attempt.task, attempt.number):
                cause = DecisionCause(kind=CauseKind.VIOLATION, name=found.kind)
                seq = self._index.tool_seqs.get((attempt.session, found.turn), 0)
                yield DecisionFault(cause=cause, seq=seq, text=found.what, turn=found.turn)


def _find_verdict_faults(seq: int, given: VerdictGiven) -> Iterator[DecisionFault]:
    """Yield the faults that a verdict names: the rules that blocked, or else its cause with its reasons."""
    verdict = given.verdict
    if verdict.kind == VerdictKind.MERGE or verdict.cause is None:
        return
    if verdict.cause.is_infrastructure or verdict.cause in _NOT_THE_PROMPT:
        return
    blocking = [finding for finding in verdict.findings if finding.is_blocking]
    for finding in blocking:
        cause = DecisionCause(kind=CauseKind.RULE, name=finding.rule)
        text = to_one_line(finding.text, _EXCERPT_CHARS)
        yield DecisionFault(cause=cause, seq=seq, text=text, path=finding.path)
    if not blocking:
        cause = DecisionCause(kind=CauseKind.VERDICT, name=verdict.cause.value)
        yield DecisionFault(cause=cause, seq=seq, text=to_one_line("; ".join(verdict.reasons), _EXCERPT_CHARS))


def _find_vote_faults(held: VoteOutcome, seq: int) -> Iterator[DecisionFault]:
    words = to_one_line("; ".join(held.vote.reasons), _EXCERPT_CHARS)
    if held.escapes:
        shown = f"approved, and then: {', '.join(sorted(held.escapes))}"
        yield DecisionFault(cause=ESCAPED_APPROVAL, seq=seq, text=shown, turn=None)
    if held.was_false:
        yield DecisionFault(cause=FALSE_VETO, seq=seq, text=words, turn=None)


def _judge_vote(held: VoteOutcome) -> DecisionOutcome:
    if held.escapes or held.was_false:
        return "sent-back"
    if held.is_open or held.vote.decision not in {"approve", *VETOES}:
        return "open"
    return "landed"

"""Answers to the questions of a run: which ones a question takes, why one is refused, and what waits."""

from collections.abc import Sequence

from orchestrator.domain.commands.definitions import Approve, Reject, SendBack
from orchestrator.domain.event.people import ApprovalDecided
from orchestrator.domain.ids import RunId
from orchestrator.domain.run.approval import DECISION_WORDS, ApprovalDecision, ApprovalState
from orchestrator.domain.run.closed_questions import explain_closed_question
from orchestrator.domain.run.state import RunState

Answer = Approve | SendBack | Reject


def get_decision(command: Answer) -> ApprovalDecision:
    """Return the decision that an answer is."""
    match command:
        case Approve():
            return "approve"
        case SendBack():
            return "send-back"
    return "reject"


def build_answer_event(state: RunState, command: Answer, by: str) -> ApprovalDecided | None:
    """Return the event that an answer is; None if the run asked no such question."""
    question = state.find_question(command.item)
    if question is None:
        return None
    item, decision = question.approval.item, get_decision(command)
    if isinstance(command, SendBack):
        return ApprovalDecided(item=item, decision=decision, by=by, reason=command.note, comments=command.comments)
    return ApprovalDecided(item=item, decision=decision, by=by, reason=command.reason)


def format_question_name(question: ApprovalState) -> str:
    """Return the two names of a question: `q2 landing/parser@1`."""
    return f"{question.id} {question.approval.item}"


def suggest_answers(run: RunId, waiting: Sequence[ApprovalState]) -> str:
    """Return the command that approves the first question of a run, and the verbs of its other answers."""
    if not waiting:
        return f"orchestrate resume {run}"
    first = waiting[0]
    return f"orchestrate approve {run} {first.id} (or {' or '.join(first.approval.answers[1:])})"


def suggest_edit(run: RunId, question: ApprovalState) -> str:
    """Return how the plan that a question is about can be changed as it is approved."""
    return f"to change the plan first: orchestrate approve {run} {question.id} --edit"


def format_waiting_questions(state: RunState) -> str:
    """Return what waits for an answer, for a message that refuses something: `waiting: q1 landing/a@1, q3 …`."""
    return f"waiting: {', '.join(map(format_question_name, state.pending_approvals)) or 'nothing'}"


def explain_answer_refusal(state: RunState, command: Answer) -> str:
    """Return the reason why an answer cannot be taken now; empty when it can."""
    question, waiting = state.find_question(command.item), format_waiting_questions(state)
    if question is None:
        return f"nothing is asked under the name {command.item!r}; {waiting}"
    name, decision = format_question_name(question), get_decision(command)
    if question.decision is not None:
        return f"{name} was answered already: {DECISION_WORDS[question.decision]} by {question.by}; {waiting}"
    if closed := explain_closed_question(state, question):
        return f"{name} is closed: {closed}; {waiting}"
    if decision not in question.approval.answers:
        verbs = " or ".join(question.approval.answers)
        return f"{name} cannot be {DECISION_WORDS[decision]}, there is nobody to take it up again: {verbs}"
    if isinstance(command, Approve) and command.plan is not None and question.approval.plan is None:
        return f"{name} asks about no plan that can be edited: approve it as it is, or send it back with a note"
    if isinstance(command, SendBack) and not command.note.strip() and not command.comments:
        return f"say what is to be changed before {question.id} is sent back: --note TEXT, or --comment PATH:LINE=TEXT"
    return ""

"""The answers of people to plans that waited in a recording: a replay puts the question and answers it at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.people import ApprovalDecided, ApprovalRequested, PlanEdited
from orchestrator.domain.event.work import PlanSubmitted, TaskCreated
from orchestrator.domain.ids import TaskId, build_plan_item
from orchestrator.domain.run.plan import Plan
from orchestrator.domain.run.state import RunState
from orchestrator.engine.goal.plan_answers import build_plan_events


@dataclass(frozen=True)
class RecordedPlanAnswer:
    """A question about a plan, how it was answered, and the plan that a person made of it, if any did."""

    question: ApprovalRequested
    decided: ApprovalDecided
    edited: Plan | None = None


PlanAnswers = Mapping[str, RecordedPlanAnswer]
"""The answers by the items of their questions."""
NO_ANSWERS: PlanAnswers = {}


def find_plan_answers(events: Sequence[RecordedEvent]) -> PlanAnswers:
    """Return all answers of a recording to questions about plans."""
    questions, found = dict[str, ApprovalRequested](), dict[str, RecordedPlanAnswer]()
    for recorded in events:
        match recorded.event:
            case ApprovalRequested(approval=approval) as question if approval.matter == "plan":
                questions[approval.item] = question
            case ApprovalDecided(item=item) as decided if item in questions:
                found[item] = RecordedPlanAnswer(questions[item], decided)
            case PlanEdited(task=str(task)) as edit:
                item = build_plan_item(TaskId(task), edit.round)
                found[item] = RecordedPlanAnswer(found[item].question, found[item].decided, edit.plan)
    return found


def find_answer(answers: PlanAnswers, events: Sequence[Event]) -> RecordedPlanAnswer | None:
    """Return how people answered the plan that is among these events; None if there is none, or nobody was asked.

    A plan that differs from the recorded one was asked about by nobody.
    """
    for event in events:
        if isinstance(event, PlanSubmitted) and event.task is not None:
            answer = answers.get(build_plan_item(event.task, event.round))
            asked = answer.question.approval.plan if answer is not None else None
            return answer if asked in (None, event.plan) else None
    return None


def put_question(events: Sequence[Event], answer: RecordedPlanAnswer) -> list[Event]:
    """Return the events of a plan as they are where it waits for an answer: its tasks, and the question.

    What it takes back falls away with the answer, but for old journals, whose questions do not hold the plan.
    """
    item, asked = answer.question.approval.item, list[Event]()
    for event in events:
        if isinstance(event, TaskCreated):
            asked.append(event.model_copy(update={"spec": event.spec.model_copy(update={"approval": item})}))
        elif isinstance(event, PlanSubmitted) or answer.question.approval.plan is None:
            asked.append(event)
    return [*asked, answer.question]


def build_answer_events(state: RunState, answer: RecordedPlanAnswer) -> list[Event]:
    """Return the answer and what it changes, by the run as it is in the replay."""
    return [answer.decided, *build_plan_events(state, answer.decided, answer.edited)]

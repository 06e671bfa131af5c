"""The names of what has to happen in a replay in the order in which it was recorded."""

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.domain.event import Event, work
from orchestrator.domain.event.landing import LandingFinished, LandingStarted, UnitEjected
from orchestrator.domain.event.people import ApprovalDecided, ApprovalRequested
from orchestrator.domain.event.policy import PolicyLoaded
from orchestrator.domain.event.run import BaselineRecorded, IterationJudged, IterationStarted
from orchestrator.domain.ids import ROOT_TASK, SessionId, TaskId
from orchestrator.domain.purpose import PurposeFacts


def name_reply(session: SessionId, turn: int) -> str:
    """Return the answer to a session's call."""
    return f"the answer to {session}, turn {turn}"


def name_planning_round(task: TaskId, number: int) -> str:
    """Return the beginning of a planner's round."""
    return f"round {number} of the planner of {task}"


def name_attempt(task: TaskId, number: int) -> str:
    """Return the beginning of an attempt."""
    return f"attempt {number} at {task}"


def name_composition(task: TaskId, number: int) -> str:
    """Return the composing of an attempt's candidate with what lands before it."""
    return f"the composing of attempt {number} at {task}"


def name_tier_answer(item: str) -> str:
    """Return what was said to a wish for a tier."""
    return f"the answer to {item}"


BASELINE = "the baseline"
"""The end of the gate's run on the base."""


def index_milestones(events: Iterable[Event]) -> dict[str, Event]:
    """Return events of a run by the milestones that they are; those of one kind are in their order."""
    namer, found = MilestoneNamer(), dict[str, Event]()
    for event in events:
        if (name := namer.find_milestone(event)) is not None:
            found[name] = event
    return found


class MilestoneNamer:
    """Names events, in the order in which they happen. Most have no name: nothing waits for them."""

    def __init__(self) -> None:
        self._landings = 0
        self._policies = 0
        self._rounds: dict[str, int] = {}

    def find_milestone(self, event: Event) -> str | None:
        """Return the milestone that the event is, or None."""
        if isinstance(event, PolicyLoaded):
            self._policies += 1
            return f"policy {self._policies}"
        return next(self._iterate_names(event), None)

    def _iterate_names(self, event: Event) -> Iterator[str]:
        match event:
            case work.ModelReplied() | work.ModelFailed(retry_in_s=None):
                yield name_reply(event.session, event.turn)
            case work.PlanningStarted():
                self._rounds[event.task or ROOT_TASK] = event.round
                yield name_planning_round(event.task or ROOT_TASK, event.round)
            case work.WorkspaceLeasing(purpose_facts=PurposeFacts(kind="planning", task=str(task))):
                yield f"a workspace for {name_planning_round(task, self._rounds.get(task, 0))}"
            case work.AttemptStarted():
                yield name_attempt(event.attempt.task, event.attempt.number)
            case LandingStarted():
                yield f"the beginning of landing {self._landings + 1}"
            case LandingFinished():
                self._landings += 1
                yield f"landing {self._landings}"
            case ApprovalRequested() if event.approval.matter in ("tier", "policy"):
                yield f"the question {event.approval.item}"
            case ApprovalDecided() if event.item.startswith(("tier/", "policy/")):
                yield name_tier_answer(event.item)
            case _ if type(event) in _NAMES:
                yield _NAMES[type(event)].format(event)


_NAMES: Mapping[type[Event], str] = {
    BaselineRecorded: BASELINE,
    UnitEjected: "the ejection of {0.unit}",
    work.PlanSubmitted: "a plan from round {0.round} of the planner of {0.task}",
    work.PlanKept: "the word of the planner of {0.task} in round {0.round} that its plan stays",
    work.RivalChosen: "the choice among the rivals of {0.task}",
    work.PlanningEnded: "the last word of the planner of {0.task} in round {0.round}",
    work.AttemptEnded: "the end of attempt {0.number} at {0.task}",
    work.CandidateComposed: "the composing of attempt {0.number} at {0.task}",
    work.VerdictGiven: "the verdict on attempt {0.number} at {0.task}",
    work.TaskEnded: "the end of {0.task}",
    IterationStarted: "iteration {0.number}",
    IterationJudged: "the verdict on iteration {0.number}",
}
"""The names of events that tell themselves all that stands in them."""

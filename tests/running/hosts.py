"""The events of a run that two hosts carried, one of which was lost with an attempt on it."""

from orchestrator.domain.event import Event
from orchestrator.domain.event.hosts import HostJoined, HostLeft
from orchestrator.domain.event.run import CheckFinished, CheckStarted
from orchestrator.domain.event.work import AttemptStarted, WorkspaceLeased, WorkspaceLeasing
from orchestrator.domain.ids import CommitId, TaskId, TreeId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.task import Attempt
from tests.running.goal_events import BASE, checked, created, judged, worked

TESTED, TESTING = "check/gate.1/parser~0", "check/gate.1/index~0"
"""The runs of a check: one that has ended on build-1, and one that goes on there."""
_COMMIT = CommitId("c" * 40)


def lease(purpose: Purpose, host: str, key: str) -> list[Event]:
    """A workspace is opened on a host; an empty one is the engine's own machine."""
    leasing = WorkspaceLeasing(key=key, purpose=purpose.text, commit=_COMMIT, facts=purpose.facts)
    return [leasing, WorkspaceLeased(key=key, name="w", host=host)]


def work_on(task: str, host: str, key: str) -> list[Event]:
    """The workspace of the first attempt at a task is opened on a host."""
    return lease(Purpose.for_attempt(TaskId(task), 1), host, f"workspace/{key}~0")


def two_hosts() -> list[Event]:
    """The parser worked here and was tested on build-1; the index is at work there, since build-2 was lost with it."""
    parser, index = Purpose.for_attempt(TaskId("parser"), 1), TaskId("index")
    started = Attempt(task=index, number=1, mode="fresh", base=BASE, model="m")
    return [
        HostJoined(name="build-1", slots=8, address="10.0.0.7:4100"),
        HostJoined(name="build-2", slots=4),
        *(created("parser"), created("index"), created("other")),
        *worked("parser", within=work_on("parser", "", "1")),
        _begin_check(TESTED, parser),
        *lease(parser.for_check_run(TESTED), "build-1", "workspace/2~0"),
        CheckFinished(key=TESTED, receipt=checked(TESTED, "parser").receipt),
        judged("parser", "merge", receipts=(TESTED,)),
        AttemptStarted(task=index, attempt=started),
        *work_on("index", "build-2", "3"),
        HostLeft(name="build-2", cause="lost", reason="no sign of life for 15 s", workspaces=1),
        *work_on("index", "build-1", "4"),
        _begin_check(TESTING, parser),
        *lease(parser.for_check_run(TESTING), "build-1", "workspace/5~0"),
    ]


def _begin_check(key: str, purpose: Purpose) -> Event:
    return CheckStarted(key=key, check="gate", tree=TreeId("t"), purpose=purpose.text, facts=purpose.facts)

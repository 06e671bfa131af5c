"""A ledger in memory, for what only lands: it keeps trials, ejections and landings, and folds nothing else."""

from collections.abc import Sequence
from datetime import UTC, datetime

from orchestrator.domain.event import Event
from orchestrator.domain.event.landing import LandingFinished, TrialJudged, UnitEjected
from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.ids import CommitId, RunId, TreeId
from orchestrator.domain.run.state import RunState

_NONE = "0" * 40
_STARTED = RunStarted(
    run=RunId("run-1"),
    mode="goal",
    goal="many files",
    started_at=datetime(2026, 1, 1, tzinfo=UTC),
    repository="",
    base=CommitId(_NONE),
    base_tree=TreeId(_NONE),
    branch="orchestrate/queue",
    target="main",
    settings={},
)


class MemoryLedger:
    """`events` are all that were appended, in order."""

    def __init__(self) -> None:
        self.state = RunState()
        self.state.started = _STARTED
        self.events: list[Event] = []

    async def append(self, *events: Event) -> None:
        for event in events:
            self.events.append(event)
            match event:
                case TrialJudged():
                    self.state.trials.append(event)
                case UnitEjected():
                    self.state.ejections.append(event)
                case LandingFinished():
                    self.state.landings.append(event)

    def build_next_key(self, name: str) -> str:
        return f"{name}~{len(self.events)}"

    def list_events(self, *kinds: type[Event]) -> Sequence[Event]:
        return [event for event in self.events if isinstance(event, kinds)]

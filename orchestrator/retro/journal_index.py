"""The events of one journal that a retrospective needs, by the session or attempt that they are about."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from orchestrator.domain.chat import Role
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.work import (
    AttemptEnded,
    LensVoted,
    PlanRefused,
    SessionStarted,
    ToolCalled,
    VerdictGiven,
)
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.report.judging.lens_accuracy import VoteLog
from orchestrator.retro.decisions import PromptUse

Numbered = tuple[TaskId, int]


@dataclass
class JournalIndex:
    """The sessions, verdicts, votes and refused plans of one journal; `names` are prompts by their sha."""

    names: Mapping[str, str]
    is_migration: bool = False
    uses: dict[SessionId, PromptUse] = field(default_factory=dict)
    verdicts: dict[Numbered, list[tuple[int, VerdictGiven]]] = field(default_factory=dict)
    ends: dict[Numbered, tuple[int, AttemptEnded]] = field(default_factory=dict)
    votes: dict[tuple[TaskId, int, str], int] = field(default_factory=dict)
    refusals: dict[SessionId, list[tuple[int, PlanRefused]]] = field(default_factory=dict)
    tool_seqs: dict[tuple[SessionId, int], int] = field(default_factory=dict)
    vote_log: VoteLog = field(default_factory=VoteLog)
    _planning: dict[TaskId, SessionId] = field(default_factory=dict)

    def record_events(self, events: Iterable[RecordedEvent]) -> None:
        """Take in a journal's events, in order."""
        for recorded in events:
            self._record_event(recorded)
            self.vote_log.record_events((recorded,))

    def _record_event(self, recorded: RecordedEvent) -> None:
        seq, event = recorded.seq, recorded.event
        match event:
            case SessionStarted():
                self._record_session(event)
            case VerdictGiven(task=str(task)):
                self.verdicts.setdefault((task, event.number), []).append((seq, event))
            case AttemptEnded(task=str(task)):
                self.ends[task, event.number] = (seq, event)
            case LensVoted(task=str(task)):
                self.votes[task, event.number, event.vote.lens] = seq
            case PlanRefused(task=str(task)) if task in self._planning:
                self.refusals.setdefault(self._planning[task], []).append((seq, event))
            case ToolCalled():
                self.tool_seqs.setdefault((event.session, event.turn), seq)

    def _record_session(self, event: SessionStarted) -> None:
        name = self.names.get(event.prompt)
        if name is None:
            name = self._guess_name(event.role)
        self.uses[event.session] = PromptUse(role=event.role, name=name, sha=event.prompt)
        if event.role == "planner" and event.task is not None:
            self._planning[event.task] = event.session

    def _guess_name(self, role: Role) -> str:
        """Return the usual prompt of a role: the wording is of another version, so its name is not known."""
        if role == "worker" and self.is_migration:
            return "migrate-tail"
        return role

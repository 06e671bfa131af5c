"""A recorded run, read so that it can be followed: its beginning, its answers, its order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.agent.history import SessionHistory, read_reply, restore_session
from orchestrator.domain.chat import Message
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.people import ApprovalDecided
from orchestrator.domain.event.policy import PolicyLoaded
from orchestrator.domain.event.run import EngineStarted
from orchestrator.domain.event.work import ModelCalled, ModelFailed, ModelReplied
from orchestrator.domain.ids import SessionId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.blob_text import Text
from orchestrator.errors import JournalProblem
from orchestrator.journal.session_reader import JournalSessionReader
from orchestrator.journal.state.derivation import apply_read_event
from orchestrator.llm.errors import ContextOverflow, RequestRefused
from orchestrator.llm.reasoning_rules import ReasoningRule
from orchestrator.llm.recorded_model import CallPosition, RecordedAnswer
from orchestrator.replay.sequence.recorded_words import find_interrupted_turns

_ENDS_A_SESSION = frozenset({ContextOverflow.code, RequestRefused.code})
"""Failures that a session takes as an answer; after any other the run stopped and asked again when it went on."""


@dataclass(frozen=True)
class RecordedCall:
    """A call as the journal has it: the intent of its last try, where its answer stands, and the answer."""

    called: ModelCalled
    seq: int
    answer: RecordedAnswer


class RecordedRun:
    """One run's journal. It is read whole when this is made, and never written to."""

    def __init__(
        self,
        reader: JournalSessionReader,
        calls: Mapping[CallPosition, RecordedCall],
        policies: tuple[PolicyLoaded, ...] = (),
    ) -> None:
        self._reader = reader
        self.policies = policies
        """The policies that decided, one after the other, each with its whole text."""
        self._conversations: dict[SessionId, SessionHistory] = {}
        self.calls = calls
        self.state = RunState()
        for recorded in reader.events:
            apply_read_event(reader.journal, self.state, recorded)

    @classmethod
    async def from_reader(cls, reader: JournalSessionReader) -> "RecordedRun":
        """Return the recording that a journal is.

        Raises:
            JournalProblem: a text of it is missing or damaged.
        """
        return cls(reader, await _read_calls(reader), await _read_policies(reader))

    @property
    def events(self) -> Sequence[RecordedEvent]:
        """All events, in order."""
        return self._reader.events

    @property
    def answers(self) -> Mapping[CallPosition, RecordedAnswer]:
        """The answer to every call that has one."""
        return {place: call.answer for place, call in self.calls.items()}

    @property
    def tier_answers(self) -> Sequence[ApprovalDecided]:
        """The answers to wishes for a higher tier and to questions of the policy, by people or the clock, in order."""
        decided = (one.event for one in self.events if isinstance(one.event, ApprovalDecided))
        return [event for event in decided if self.state.approvals[event.item].approval.matter in ("tier", "policy")]

    @property
    def state_without_granted_tiers(self) -> RunState:
        """The run's last state, with the settings as if nobody had granted a tier."""
        granted = []
        for one in self.tier_answers:
            granted.append(self.state.approvals[one.item].approval.settings)
        kept = tuple(settings for settings in self.state.overrides if settings not in granted)
        return replace(self.state, overrides=kept)

    @property
    def opening_events(self) -> Sequence[Event]:
        """The events before a process took the run: its beginning."""
        found: list[Event] = []
        for recorded in self.events:
            if isinstance(recorded.event, EngineStarted):
                break
            found.append(recorded.event)
        return found

    async def read_text(self, text: Text) -> str:
        """Return the whole of a recorded text."""
        return await self._reader.read_text(text)

    async def find_messages(
        self, place: CallPosition, context_tokens: int, rule: ReasoningRule
    ) -> tuple[Message, ...] | None:
        """Return what the model was told at a place of the run; None if its session never came so far."""
        session, turn = place
        if session not in self._conversations:
            remembered = await restore_session(self._reader, session)
            if remembered is None:
                return None
            self._conversations[session] = remembered.conversation
        whole = self._conversations[session]
        if turn > len(whole.turns):
            return None
        return whole.cut_before(turn).build_messages(context_tokens, rule)


async def _read_calls(reader: JournalSessionReader) -> Mapping[CallPosition, RecordedCall]:
    calls: dict[CallPosition, RecordedCall] = {}
    interrupted = find_interrupted_turns(reader.events)
    open_calls: dict[CallPosition, ModelCalled] = {}
    for recorded in reader.events:
        event = recorded.event
        if isinstance(event, ModelCalled):
            open_calls[event.session, event.turn] = event
            continue
        if isinstance(event, ModelReplied):
            answer = RecordedAnswer(await read_reply(reader, event))
        elif isinstance(event, ModelFailed) and event.error in _ENDS_A_SESSION:
            answer = RecordedAnswer(None, event.error, event.detail)
        else:
            continue
        place = (event.session, event.turn)
        if place in interrupted:
            continue  # nobody used it: a person's words came first
        calls[place] = RecordedCall(_require_call(open_calls, place), recorded.seq, answer)
    return calls


async def _read_policies(reader: JournalSessionReader) -> tuple[PolicyLoaded, ...]:
    policies = []
    for recorded in reader.events:
        event = recorded.event
        if isinstance(event, PolicyLoaded):
            text = Text.build_inline(await reader.read_text(event.text))
            project = Text.build_inline(await reader.read_text(event.project))
            policies.append(event.model_copy(update={"text": text, "project": project}))
    return tuple(policies)


def _require_call(calls: Mapping[CallPosition, ModelCalled], place: CallPosition) -> ModelCalled:
    if place not in calls:
        raise JournalProblem(f"session {place[0]}, turn {place[1]} has an answer to a call that was never made")
    return calls[place]

"""A watch on every request that sessions of this process send: legal, with their task, and extending the one before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from orchestrator.agent.carryover_report import CARRY_OVER
from orchestrator.agent.model_calls import ModelCaller
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.domain.chat import Message
from orchestrator.domain.ids import SessionId

LONG_SESSION = 100
"""So many requests in one process make a session whose share of repeated input is held to the bound."""
LEAST_SHARE = 0.95


@dataclass
class WatchedSession:
    """What was sent of one session: characters, and how many of them were the beginning of the request before.

    Neither counts the first request, nor those in which texts were left out or turns carried over.
    """

    latest: tuple[Message, ...] = ()
    requests: int = 0
    compactions: int = 0
    carryovers: int = 0
    sent_chars: int = 0
    repeated_chars: int = 0

    @property
    def repeated_share(self) -> float:
        return self.repeated_chars / max(self.sent_chars, 1)


@dataclass
class ConversationWatch:
    """All sessions of one test, by who asks for them."""

    problems: list[str] = field(default_factory=list)
    sessions: WeakKeyDictionary[ModelCaller, dict[SessionId, WatchedSession]] = field(default_factory=WeakKeyDictionary)
    finished: list[WatchedSession] = field(default_factory=list)

    def observe(self, caller: ModelCaller, spec: SessionSpec, messages: tuple[Message, ...]) -> None:
        """Compare a request with the one before of its session."""
        session = self.sessions.setdefault(caller, {}).setdefault(spec.id, WatchedSession())
        if not session.requests:
            self.finished.append(session)
        before, session.latest = session.latest, messages
        session.requests += 1
        same = count_same(before, messages)
        is_extension = same == len(before)
        for problem in find_problems(messages, same if is_extension else 0):
            self.problems.append(f"{spec.id}: {problem}")
        if messages[:2] != before[:2] and before:
            self.problems.append(f"{spec.id}: the instructions or the task are not what they were")
        if CARRY_OVER in spec.tools:
            session.carryovers += 1
        elif not is_extension:
            session.compactions += 1
            if not is_shortened(before, messages) and any(message.role == "assistant" for message in messages):
                self.problems.append(f"{spec.id}: message {same} was rewritten: {messages[same].text[:80]!r}")
        elif before:
            session.sent_chars += sum(message.size_chars for message in messages)
            session.repeated_chars += sum(message.size_chars for message in before)

    def list_problems(self) -> list[str]:
        """Return what is wrong with the requests, in the order in which it was found."""
        low = []
        for session in self.finished:
            if session.requests >= LONG_SESSION and session.repeated_share < LEAST_SHARE:
                low.append(f"only {session.repeated_share:.1%} of {session.requests} requests repeat the one before")
        return [*self.problems, *low]


def watch_conversations(patch: pytest.MonkeyPatch) -> ConversationWatch:
    """Return a watch on all requests from now on."""
    watch, ask_model = ConversationWatch(), ModelCaller.ask_model

    async def ask_observed_model(self: ModelCaller, spec: SessionSpec, turn: int, messages: Any) -> Any:
        watch.observe(self, spec, messages)
        return await ask_model(self, spec, turn, messages)

    patch.setattr(ModelCaller, "ask_model", ask_observed_model)
    return watch


def count_same(before: Sequence[Message], now: Sequence[Message]) -> int:
    """Return how many of the first messages are byte for byte the same."""
    same = 0
    for one, other in zip(before, now, strict=False):
        if one is not other and one != other:
            break
        same += 1
    return same


def is_shortened(before: Sequence[Message], now: Sequence[Message]) -> bool:
    """Return True if all that changed lost text: same roles, same calls, nothing longer."""
    if len(now) < len(before):
        return False
    for one, other in zip(before, now, strict=False):
        calls = [(call.id, call.name) for call in one.tool_calls]
        if (one.role, one.call_id, calls) != (other.role, other.call_id, [(c.id, c.name) for c in other.tool_calls]):
            return False
        if one != other and other.size_chars >= one.size_chars:
            return False
    return True


def find_problems(messages: Sequence[Message], checked: int = 0) -> Iterator[str]:
    """Yield what a provider would refuse; the first `checked` messages were a whole request before."""
    if [message.role for message in messages[:2]] != ["system", "user"]:
        yield "it does not begin with instructions and a task"
    waiting: list[str] = []
    for place, message in enumerate(messages[checked:], start=checked):
        if message.role == "tool":
            if message.call_id not in waiting:
                yield f"message {place} answers no open call"
            else:
                waiting.remove(message.call_id)
            continue
        if waiting:
            yield f"message {place} comes before the calls {waiting} are answered"
        waiting = [call.id for call in message.tool_calls]
    if waiting:
        yield f"the calls {waiting} are not answered"

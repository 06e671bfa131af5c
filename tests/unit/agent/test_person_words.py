"""What a person says to a task counts in every conversation that works on it, however that begins or goes on."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.agent.carryover_report import CARRY_OVER
from orchestrator.domain.chat import Reply, Request
from orchestrator.domain.commands.definitions import Tell
from orchestrator.domain.event.people import CommandTaken, WordsDelivered
from orchestrator.domain.ids import SessionId
from orchestrator.llm.scripted_model.model import ScriptedModel
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.builders import call, reply
from tests.running.agent_sessions import API, DONE, SESSION, AgentSession, CarryingModel

WORDS = "keep the old file format"
FURTHER = SessionId("work:api@2")
LAST = SessionId("work:api@3")
WRITTEN = reply(call=[call("write", path="a.py", text="x = 1\n")])
CARRIED = reply(call=[call(CARRY_OVER, state="a.py stands")])


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[AgentSession]:
    opened = AgentSession(tmp_path)
    await opened.open_journal()
    yield opened
    opened.journal.close()


async def say(session: AgentSession, text: str = WORDS) -> None:
    """Record that a person says something to the task."""
    sent = datetime(2026, 1, 1, tzinfo=UTC)
    await session.journal.append(
        CommandTaken(key=f"say {text}", by="ann", sent_at=sent, command=Tell(task=API, note=text))
    )


class InterruptedModel(CarryingModel):
    """A scripted model; the person says `WORDS` while it makes its reply of turn `told_in`."""

    session: AgentSession
    told_in: int = 0

    async def request_completion(self, request: Request) -> Reply:
        """Return the next reply of the script."""
        if request.turn == self.told_in and not self.session.journal.state.goal.words:
            await say(self.session)
        return await super().request_completion(request)


def build_model(session: AgentSession, *items: ScriptedReply, carried: ScriptedReply = CARRIED) -> InterruptedModel:
    model = InterruptedModel(items, [carried, carried])
    model.session = session
    return model


def think(number: int) -> ScriptedReply:
    """A turn whose words stay: three of them fill a context of 8,000 tokens."""
    return reply(f"Step {number}. {'.' * 9_000}", call=[call("write", path=f"{number}.py", text="x = 1\n")])


def count_said(model: ScriptedModel, request: int) -> int:
    """How often a request holds the words."""
    return "\n".join(message.text for message in model.requests[request].messages).count(WORDS)


async def test_words_said_during_a_turn_stand_before_the_next_one(session: AgentSession) -> None:
    model = build_model(session, WRITTEN, WRITTEN, DONE)
    await session.run(model)
    assert [count_said(model, request) for request in range(3)] == [0, 1, 1]
    assert await session.list_events(WordsDelivered) == [
        WordsDelivered(task=API, session=SESSION, turn=0, word_ids=("w1",))
    ]


async def test_a_fresh_context_begins_with_the_words_that_the_full_one_heard(session: AgentSession) -> None:
    model = build_model(session, *map(think, range(7)), DONE)
    await session.run(model)
    assert len(model.carryover_requests) == 2
    assert count_said(model, -1) == 1


async def test_a_later_attempt_that_begins_afresh_is_told_what_the_first_one_heard(session: AgentSession) -> None:
    await session.run(build_model(session, WRITTEN, DONE))
    model = CarryingModel([WRITTEN, DONE], [])
    await session.run(model, id=FURTHER)
    assert count_said(model, 0) == 1
    assert session.journal.state.goal.words["w1"].session == FURTHER


async def test_a_conversation_that_goes_on_is_not_told_again(session: AgentSession) -> None:
    await session.run(build_model(session, WRITTEN, DONE))
    await session.run(CarryingModel([WRITTEN, DONE], []), id=FURTHER, continues=SESSION)
    model = CarryingModel([WRITTEN, DONE], [])
    await session.run(model, id=LAST, continues=FURTHER)
    assert count_said(model, 0) == 1


async def test_a_conversation_that_goes_on_from_before_the_words_is_told_them(session: AgentSession) -> None:
    model = build_model(session, WRITTEN, WRITTEN, DONE)
    model.told_in = 1
    await session.run(model)
    fork = CarryingModel([WRITTEN, DONE], [])
    await session.run(fork, id=FURTHER, continues=SESSION, until=0)
    assert WORDS in fork.requests[0].messages[-1].text
    assert count_said(fork, 0) == 1


async def test_a_conversation_beside_another_is_told_what_that_one_heard(session: AgentSession) -> None:
    await session.run(build_model(session, WRITTEN, DONE))
    await say(session, "be brief")
    await session.run(CarryingModel([WRITTEN, DONE], []), id=FURTHER, continues=SESSION, until=0)
    fork = CarryingModel([WRITTEN, DONE], [])
    await session.run(fork, id=LAST, continues=SESSION, until=0)
    assert "be brief" in fork.requests[0].messages[-1].text
    assert count_said(fork, 0) == 1

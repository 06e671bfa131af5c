"""A conversation that fills its context goes on in a fresh one, in its session, with what the model carries over."""

from collections.abc import AsyncIterator, Callable, Sequence
from itertools import count
from pathlib import Path

import pytest

from orchestrator.agent.carryover_report import CARRY_OVER
from orchestrator.agent.history import restore_session
from orchestrator.domain.chat import Request
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.run import EffectAbandoned
from orchestrator.domain.event.work import ContextFilled, ConversationCarriedOver, ToolReturned
from orchestrator.domain.hooks import HookScope
from orchestrator.domain.ids import SessionId
from orchestrator.domain.run.task import Exit, Handoff
from orchestrator.llm.reasoning_rules import ReasoningRule
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.ports.hooks import HookOccurrence
from orchestrator.ports.roles import SessionFailure
from orchestrator.report.log.event_descriptions import describe_event
from orchestrator.tui.rows.transcript_items import TranscriptLevel, build_item
from tests.loopback.builders import call, reply
from tests.running.agent_sessions import BRIEF, DONE, SESSION, AgentSession, CarryingModel
from tests.running.conversations import ConversationWatch

ALL_DONE = Handoff(summary="all done")
CARRIED = reply(call=[call(CARRY_OVER, state="a.py stands", findings=["b.py:3 rounds twice"], remaining=["mend b.py"])])


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[AgentSession]:
    opened = AgentSession(tmp_path)
    await opened.open_journal()
    yield opened
    opened.journal.close()


def think(number: int, chars: int = 9_000) -> ScriptedReply:
    """A turn whose words stay: three of them fill a context of 8,000 tokens."""
    return reply(f"Step {number}. {'.' * chars}", call=[call("write", path=f"{number}.py", text=f"x = {number}\n")])


def list_written(count: int) -> dict[str, bytes]:
    return {f"{number}.py": f"x = {number}\n".encode() for number in range(count)}


def list_texts(request: Request) -> list[str]:
    return [message.text for message in request.messages]


async def test_the_session_goes_on_from_its_task_and_what_it_carried_over(session: AgentSession) -> None:
    model = CarryingModel([*map(think, range(4)), DONE], [CARRIED])
    assert await session.run(model) == ALL_DONE
    asked, first = model.requests[3], model.requests[4]
    assert [tool.name for tool in asked.tools] == [CARRY_OVER]
    assert asked.messages[: len(model.requests[2].messages)] == model.requests[2].messages
    assert first.tools == model.requests[0].tools
    assert list_texts(first)[:2] == ["You work.", BRIEF]
    assert len(first.messages) == 3
    assert (
        "a.py stands\n\nfindings:\n- b.py:3 rounds twice\n\nremaining:\n- mend b.py\n</carryover-"
        in list_texts(first)[2]
    )
    assert session.workspace.files == list_written(4)
    assert session.journal.state.sessions[SESSION].carryovers == 1


async def test_each_context_that_fills_is_carried_over(session: AgentSession) -> None:
    again = reply(call=[call(CARRY_OVER, state="c.py stands too")])
    model = CarryingModel([*map(think, range(7)), DONE], [CARRIED, again])
    assert await session.run(model) == ALL_DONE
    assert "a.py stands" in list_texts(model.carryover_requests[1])[2]
    assert "a.py stands" not in "".join(list_texts(model.requests[-1]))
    assert "c.py stands too" in list_texts(model.requests[-1])[2]


@pytest.mark.parametrize(
    ("wrong", "asks"),
    [
        ([reply("I am nearly done."), reply("Really.")], 2),
        ([reply(call=[call(CARRY_OVER, raw='{"state": 3')]), reply(call=[call("print", chars=3)])], 2),
        ([reply(" ", finish_reason="content_filter"), reply("No.")], 2),
        ([reply(error="context-overflow")], 1),
        ([reply(error="request-refused")], 1),
    ],
    ids=["words", "malformed", "withheld", "too long", "refused"],
)
async def test_where_the_model_carries_nothing_over_the_harness_does(
    session: AgentSession, wrong: list[ScriptedReply], asks: int
) -> None:
    model = CarryingModel([*map(think, range(4)), DONE], wrong)
    assert await session.run(model) == ALL_DONE
    assert len(model.carryover_requests) == asks
    words = list_texts(model.requests[-1])[2]
    assert "the harness lists what it saw you do" in words
    assert "- 0.py\n- 1.py\n- 2.py\n" in words
    assert "Step 2." in words
    assert [event.by_harness for event in await session.list_events(ConversationCarriedOver)] == [True]  # type: ignore[attr-defined]


async def test_what_was_carried_over_before_is_kept_where_the_harness_goes_on(session: AgentSession) -> None:
    model = CarryingModel([*map(think, range(7)), DONE], [CARRIED, reply("no"), reply("no")])
    assert await session.run(model) == ALL_DONE
    words = list_texts(model.requests[-1])[2]
    assert "the harness lists" in words
    assert "b.py:3 rounds twice" in words


async def test_a_model_that_answers_otherwise_is_asked_once_more(session: AgentSession) -> None:
    model = CarryingModel([*map(think, range(4)), DONE], [reply(call=[call("finish", summary="early")]), CARRIED])
    assert await session.run(model) == ALL_DONE
    assert "nothing else; this is the last request" in list_texts(model.carryover_requests[1])[-1]
    assert "a.py stands" in list_texts(model.requests[-1])[2]


async def test_no_hook_is_asked_about_a_carryover(session: AgentSession) -> None:
    asked: list[HookOccurrence] = []

    class WatchingHooks:
        def has_hooks_for(self, scope: HookScope) -> bool:
            return True

        async def find_veto(self, occurrence: HookOccurrence) -> str | None:
            asked.append(occurrence)
            if occurrence.tool == CARRY_OVER or occurrence.name == f"{SESSION}/3":
                return "not here"
            return None

        async def notify_after(self, occurrence: HookOccurrence) -> None:
            pass

    model = CarryingModel([*map(think, range(4)), DONE], [CARRIED])
    assert await session.run(model, hooks=WatchingHooks()) == ALL_DONE
    assert [one.name for one in asked if one.scope == "turn"] == [f"{SESSION}/{turn}" for turn in (0, 1, 2, 4, 5)]


async def test_turns_of_a_carryover_count_and_the_last_ones_are_announced_after_it(session: AgentSession) -> None:
    session.max_turns = 9
    again = (
        reply(call=[call("print", chars=1)]),
        reply(call=[call("print", chars=2)]),
        reply(call=[call("read", path="x")]),
    )
    model = CarryingModel([*map(think, range(5)), *again], [CARRIED])
    result = await session.run(model)
    assert result == SessionFailure(exit=Exit.OUT_OF_TURNS, detail="no result after 9 turns")
    assert list_texts(model.requests[4])[-1].endswith("then use `finish`.")


async def test_a_context_that_one_reply_fills_is_carried_over_without_asking(session: AgentSession) -> None:
    model = CarryingModel([think(0), think(1, 40_000), DONE], [])
    assert await session.run(model) == ALL_DONE
    assert "the harness lists" in list_texts(model.requests[-1])[2]


async def test_a_conversation_that_hardly_fits_loses_long_texts_before_it_is_asked(session: AgentSession) -> None:
    model = CarryingModel([think(0), think(1), reply("." * 9_000, call=[call("print", chars=9_000)]), DONE], [CARRIED])
    assert await session.run(model) == ALL_DONE
    assert "output of step 3" in list_texts(model.carryover_requests[0])[-2]


async def test_one_reply_cannot_fill_the_context_with_output(session: AgentSession) -> None:
    flood = reply(call=[call("print", chars=64_000) for _ in range(9)])
    model = CarryingModel([flood, DONE], [])
    assert await session.run(model) == ALL_DONE
    sizes = [len(text) for text in list_texts(model.requests[-1])[3:]]
    assert sizes[0] > 2_500
    assert sum(sizes) < 8_000 * 4 * 0.4


async def test_a_note_in_the_place_of_a_text_is_never_written(session: AgentSession) -> None:
    note = "[text of step 1, 900 characters, left out; read the file if you need it]"
    model = CarryingModel([reply(call=[call("write", path="a.py", text=note)]), DONE], [])
    assert await session.run(model) == ALL_DONE
    assert session.workspace.files == {}
    assert "this call holds a note in the place of a text" in list_texts(model.requests[-1])[-1]


async def test_a_conversation_that_continues_one_begins_with_the_first_and_the_last_brief(
    session: AgentSession,
) -> None:
    assert await session.run(CarryingModel([*map(think, range(4)), DONE], [CARRIED])) == ALL_DONE
    second = SessionId("work:api@2")
    again = CarryingModel([think(4), think(5), DONE], [reply(call=[call(CARRY_OVER, state="mended")])])
    more = {"id": second, "continues": SESSION, "brief": "A test is red: b.py."}
    assert await session.run(again, **more) == ALL_DONE
    assert "a.py stands" in list_texts(again.requests[0])[2]
    assert list_texts(again.requests[0])[-1] == "A test is red: b.py."
    began = list_texts(again.requests[-1])
    assert began[:3] == ["You work.", BRIEF, "A test is red: b.py."]
    assert "mended" in began[3]


async def test_every_request_is_rebuilt_from_the_journal_as_it_was_sent(session: AgentSession) -> None:
    model = CarryingModel([*map(think, range(7)), DONE], [CARRIED, reply("no"), CARRIED])
    await session.run(model)
    restored = await restore_session(session.journal, SESSION)
    assert restored is not None
    for request in model.requests:
        until_then = restored.conversation.cut_before(request.turn)
        assert until_then.build_messages(8_000, ReasoningRule.OPTIONAL) == request.messages


class _Killed(Exception):
    """Stands for the death of the process."""


def play_story(said: int = 0, carried: int = 0) -> CarryingModel:
    """A session that carries over at its second try, without what was said before its process died."""
    return CarryingModel([*map(think, range(4)), DONE], [reply("no"), CARRIED][carried:], used=said)


async def hold_whole_session(directory: Path) -> list[Request]:
    """Return the requests of the session as nobody kills it."""
    whole, model = AgentSession(directory), play_story()
    await whole.open_journal()
    assert await whole.run(model) == ALL_DONE
    whole.journal.close()
    return list(model.requests)


async def hold_killed_session(killed: AgentSession, is_death: Callable[[RecordedEvent], bool]) -> bool:
    """Hold the session until the first event that is its process's death; return False if there is none."""

    def die(recorded: RecordedEvent) -> None:
        if is_death(recorded):
            raise _Killed

    journal = await killed.open_journal()
    journal.listeners.append(die)
    try:
        await killed.run(play_story())
    except _Killed:
        return True
    finally:
        journal.close()
    return False


async def resume_killed_session(killed: AgentSession, requests: Sequence[Request]) -> None:
    """Go on with it, and see that what was said is not said again and that it ends like the whole one."""
    journal = await killed.open_journal()
    for intent in list(journal.state.open_intents.values()):
        await journal.append(EffectAbandoned(key=intent.key, reason="test"))
    said = requests[: journal.state.sessions[SESSION].replies]
    carried = sum(len(request.tools) == 1 for request in said)
    model = play_story(len(said) - carried, carried)
    assert await killed.run(model) == ALL_DONE
    assert killed.workspace.files == list_written(4)
    assert [request.messages for request in model.requests] == [one.messages for one in requests[len(said) :]]
    assert model.count_remaining() == {}
    assert len(await killed.list_events(ConversationCarriedOver)) == 1
    journal.close()


@pytest.mark.parametrize("kind", [ContextFilled, ConversationCarriedOver])
async def test_a_session_that_is_killed_at_a_carryover_goes_on_the_same(tmp_path: Path, kind: type[Event]) -> None:
    requests = await hold_whole_session(tmp_path / "whole")
    killed = AgentSession(tmp_path / "killed")
    assert await hold_killed_session(killed, lambda recorded: isinstance(recorded.event, kind))
    await resume_killed_session(killed, requests)


@pytest.mark.extended
async def test_a_session_that_is_killed_anywhere_around_a_carryover_goes_on_the_same(tmp_path: Path) -> None:
    """The process dies at each event from the second turn on."""
    requests = await hold_whole_session(tmp_path / "whole")
    for seq in count(10):
        killed = AgentSession(tmp_path / str(seq))
        if not await hold_killed_session(killed, lambda recorded, seq=seq: recorded.seq == seq):  # type: ignore[misc]
            break
        await resume_killed_session(killed, requests)
    assert seq > 40


async def test_what_happens_is_told_in_words(session: AgentSession) -> None:
    await session.run(CarryingModel([*map(think, range(4)), DONE], [CARRIED]))
    told = [describe_event(event) for event in await session.list_events(ContextFilled, ConversationCarriedOver)]
    assert told[0].startswith(f"session {SESSION} fills its context (")
    assert told[0].endswith(" of 8,000 tokens) and is asked for a carryover")
    assert told[1] == f"session {SESSION} goes on in a fresh context from turn 5, as the model tells it"


async def test_a_transcript_shows_what_was_carried_over(session: AgentSession) -> None:
    await session.run(CarryingModel([*map(think, range(4)), DONE], [CARRIED]))
    items = [build_item(one.seq, one) for one in await session.journal.list_session_events(SESSION)]
    quiet = [item for item in items if item.level == TranscriptLevel.QUIET]
    shown = [item for item in quiet if "goes on in a fresh context" in item.render_head()]
    assert len(shown) == 1
    assert "- mend b.py" in shown[0].iterate_body_lines(lambda _sha: b"")


async def test_the_call_stands_in_the_journal_like_any_other(session: AgentSession) -> None:
    await session.run(CarryingModel([*map(think, range(4)), DONE], [CARRIED]))
    returned = [event for event in await session.list_events(ToolReturned) if event.name == CARRY_OVER]  # type: ignore[attr-defined]
    assert [event.observation.head for event in returned] == ["accepted"]  # type: ignore[attr-defined]


def work(number: int) -> ScriptedReply:
    """A turn of a long session: now and then 64 KB of output or a file of 4 KB, else a little."""
    text = f"Step {number}: {'I look at the next place and think about it. ' * 9}"
    if number % 8 == 0:
        return reply(text, call=[call("print", chars=65_536)])
    if number % 6 == 0:
        return reply(text, call=[call("write", path=f"{number}.py", text=f"line {number} {'x' * 4_096}")])
    return reply(text, call=[call("print", chars=300 + number)])


@pytest.mark.extended
async def test_four_hundred_turns_with_large_outputs_and_writes_pass_through_a_small_context(
    tmp_path: Path, conversation_watch: ConversationWatch
) -> None:
    session = AgentSession(tmp_path, context_tokens=32_000)
    journal = await session.open_journal()
    carried = [reply(call=[call(CARRY_OVER, state=f"part {number} is done")]) for number in range(2)]
    model = CarryingModel([*map(work, range(1, 400)), DONE], carried)
    assert await session.run(model) == ALL_DONE
    assert (len(model.requests), len(model.carryover_requests)) == (402, 2)
    assert all(BRIEF in list_texts(request) for request in model.requests)
    watched = conversation_watch.finished[-1]
    assert (watched.requests, watched.carryovers) == (402, 2)
    assert 10 < watched.compactions < 50
    assert watched.repeated_share >= 0.95
    largest = max(sum(message.size_chars for message in request.messages) for request in model.requests)
    assert largest < 32_000 * 4 * 0.95
    assert list(journal.state.sessions) == [SESSION]
    journal.close()

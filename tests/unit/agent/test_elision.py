"""What is left out of long conversations: the rest is legal, and every request extends the one before but in steps."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.agent.elided_texts import elide_call, elide_output, has_elision_note
from orchestrator.agent.history import SessionHistory
from orchestrator.agent.tools.files import EditArguments, WriteArguments
from orchestrator.agent.turn import Turn
from orchestrator.domain.chat import Message, ToolCall
from orchestrator.llm.output_parsing import parse_arguments
from tests.running.conversations import (
    ConversationWatch,
    WatchedSession,
    count_same,
    find_problems,
    is_shortened,
)

WINDOW = 4_000
TEXTS = st.integers(0, 3_000).map("é".__mul__)
WRITES = st.builds(lambda text: ("write", json.dumps({"path": "a.py", "text": text}, ensure_ascii=False)), TEXTS)
EDITS = st.builds(lambda old, new: ("edit", json.dumps({"path": "a.py", "old": old, "new": new})), TEXTS, TEXTS)
BROKEN = st.builds(lambda text: ("write", '{"path": "a.py", "text": "' + text), TEXTS)
READS = st.just(("read", '{"path": "a.py"}'))
CALLS = st.lists(st.tuples(st.one_of(WRITES, EDITS, BROKEN, READS), TEXTS), max_size=3)
TURNS = st.lists(st.tuples(st.integers(0, 400).map("t".__mul__), CALLS, st.sampled_from(["", "Go on."])), max_size=40)


CallScript = tuple[tuple[str, str], str]
TurnScript = tuple[str, list[CallScript], str]


def build_turn(number: int, text: str, calls: list[CallScript], nudge: str) -> Turn:
    made, returned = [], {}
    for place, ((name, arguments), output) in enumerate(calls):
        made.append(ToolCall(id=f"{number}-{place}", name=name, arguments=arguments))
        if place < 2:
            returned[f"{number}-{place}"] = output or "[no output]"
    return Turn(text, tuple(made), returned, nudge or ("" if calls else "Use a tool."))


@settings(max_examples=40)
@given(TURNS)
def test_requests_stay_legal_and_lose_only_what_is_old(script: list[TurnScript]) -> None:
    history, before = SessionHistory("You work.", "Task: api"), tuple[Message, ...]()
    for number, (text, calls, nudge) in enumerate(script):
        history.turns.append(build_turn(number, text, calls, nudge))
        messages = history.build_messages(WINDOW)
        assert list(find_problems(messages)) == []
        if count_same(before, messages) < len(before):
            assert is_shortened(before, messages)
        assert [message.text for message in messages[:2]] == ["You work.", "Task: api"]
        whole = SessionHistory("You work.", "Task: api", list(history.turns))
        assert whole.build_messages(WINDOW) == messages, "built at once, as a resumed session does"
        before = messages
    for turn in history.turns[-2:]:
        assert turn.text in {message.text for message in before} or not turn.text


@given(st.one_of(WRITES, EDITS), st.integers(1, 999))
def test_arguments_of_old_writes_still_fit_their_tools(call: tuple[str, str], step: int) -> None:
    whole = ToolCall(id="1", name=call[0], arguments=call[1])
    short = elide_call(whole, step)
    assert len(short.arguments) <= len(whole.arguments)
    assert len(short.arguments) < 3_000, "two short texts of which each character is escaped"
    parsed = parse_arguments(short.arguments, WriteArguments if call[0] == "write" else EditArguments)
    assert parsed.path == "a.py"  # type: ignore[attr-defined]
    assert has_elision_note(short.arguments) == (short != whole)


def test_old_arguments_that_never_were_json_are_left_out_whole() -> None:
    broken = ToolCall(id="1", name="write", arguments='{"text": "' + "x" * 5_000)
    assert json.loads(elide_call(broken, 3).arguments) == {
        "note": "[arguments of step 3, 5010 characters, left out; read the file if you need it]"
    }


def test_calls_of_other_tools_and_short_texts_stay() -> None:
    finish = ToolCall(id="1", name="finish", arguments=json.dumps({"summary": "x" * 900}))
    edit = ToolCall(id="2", name="edit", arguments=json.dumps({"path": "a" * 150, "old": "x" * 90, "new": "y" * 200}))
    assert (elide_call(finish, 1), elide_call(edit, 1), elide_output("x" * 200, 1)) == (finish, edit, "x" * 200)


SYSTEM, TASK = Message(role="system", text="You work."), Message(role="user", text="Task")
CALL = Message(role="assistant", tool_calls=(ToolCall(id="1", name="read", arguments="{}"),))
OUTPUT, LONGER = Message(role="tool", call_id="1", text="out"), Message(role="tool", call_id="1", text="outer")


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ((TASK, SYSTEM), "does not begin with instructions"),
        ((SYSTEM, TASK, CALL), "are not answered"),
        ((SYSTEM, TASK, CALL, TASK, OUTPUT), "comes before the calls"),
        ((SYSTEM, TASK, CALL, OUTPUT, OUTPUT), "answers no open call"),
        ((SYSTEM, TASK, OUTPUT), "answers no open call"),
    ],
)
def test_the_watch_on_requests_finds_what_a_provider_would_refuse(messages: tuple[Message, ...], problem: str) -> None:
    assert problem in " ".join(find_problems(messages))


def test_the_watch_on_requests_finds_what_was_rewritten_or_is_not_repeated() -> None:
    assert not is_shortened((SYSTEM, TASK, CALL, OUTPUT), (SYSTEM, TASK, CALL, LONGER))
    assert not is_shortened((SYSTEM, TASK, CALL, OUTPUT), (SYSTEM, TASK))
    assert is_shortened((SYSTEM, TASK, CALL, LONGER), (SYSTEM, TASK, CALL, OUTPUT))
    watch = ConversationWatch(finished=[WatchedSession(requests=100, sent_chars=100, repeated_chars=94)])
    assert watch.list_problems() == ["only 94.0% of 100 requests repeat the one before"]

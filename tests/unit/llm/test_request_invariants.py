"""Requests that no provider should see are refused loudly."""

import pytest

from orchestrator.domain.chat import Message, ToolCall
from orchestrator.llm.scripted_model.model import (
    InvariantBroken,
    check_request,
    is_continuation,
    is_elision,
)
from tests.loopback.builders import SYSTEM, called, request, returned, user

ONE, TWO = ToolCall(id="a", name="shell", arguments="{}"), ToolCall(id="b", name="shell", arguments="{}")


def test_a_conversation_with_answered_calls_is_accepted() -> None:
    check_request(request(called(ONE, TWO), returned("b"), returned("a"), user(), called(ONE), returned("a")))


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ((), "first message is not the system's"),
        ((user(),), "first message is not the system's"),
        ((SYSTEM,), "nothing to answer"),
        ((SYSTEM, user(), Message(role="assistant", text="hm")), "nothing to answer"),
        ((SYSTEM, Message(role="user", text=" \n")), "message 1 (user) is empty"),
        ((SYSTEM, user(), called(ONE), returned("a", "")), "message 3 (tool) is empty"),
        ((SYSTEM, user(), Message(role="assistant"), user()), "message 2 (assistant) is empty"),
        ((SYSTEM, user(), called(ONE)), "call 'a' is not answered"),
        ((SYSTEM, user(), called(ONE, TWO), returned("a"), user()), "before call 'b' is answered"),
        ((SYSTEM, user(), called(ONE), returned("x"), returned("a")), "answers call 'x'"),
        ((SYSTEM, user(), called(ONE), returned("a"), returned("a")), "answers call 'a'"),
        ((SYSTEM, user(), returned("a")), "answers call 'a'"),
        ((SYSTEM, user(), called(ONE, ONE), returned("a")), "uses one call id twice"),
        ((SYSTEM, user(), called(ONE), Message(role="tool", text="ok")), "has no call id"),
        ((SYSTEM, Message(role="user", text="hi", call_id="a")), "has a call id"),
        ((SYSTEM, Message(role="user", text="hi", tool_calls=(ONE,)), returned("a")), "makes tool calls"),
    ],
)
def test_a_malformed_conversation_is_refused(messages: tuple[Message, ...], problem: str) -> None:
    with pytest.raises(InvariantBroken) as refusal:
        check_request(request(messages=messages))
    assert problem in str(refusal.value)
    assert "'worker-api-1' turn 0 (worker)" in str(refusal.value)


def test_a_request_may_extend_the_one_before_or_start_over() -> None:
    before = (SYSTEM, user(), called(ONE), returned("a"))
    assert is_continuation((), before)
    assert is_continuation(before, before)
    assert is_continuation(before, (*before, user("more")))
    assert is_continuation(before, (SYSTEM, user(), user("from a carryover")))
    assert not is_continuation(before, (SYSTEM, user("from a carryover")))
    assert not is_continuation(before, (SYSTEM, user("changed"), called(ONE), returned("a")))
    assert not is_continuation(before, (SYSTEM, user(), called(ONE), returned("a", "changed")))


def test_arguments_of_old_calls_may_become_shorter_but_stay_those_of_the_call() -> None:
    long, short = (
        ToolCall(id="a", name="write", arguments=written) for written in ('{"text": "long"}', '{"text": ""}')
    )
    other = ToolCall(id="a", name="edit", arguments='{"text": ""}')
    before = (SYSTEM, user(), called(long), returned("a"))
    assert is_elision(before, (SYSTEM, user(), called(short), returned("a")))
    assert not is_elision((SYSTEM, user(), called(short), returned("a")), before)
    assert not is_elision(before, (SYSTEM, user(), called(other), returned("a")))
    assert not is_elision(before, (SYSTEM, user(), called(short, text="x"), returned("a")))


def test_only_tool_results_may_be_elided_and_only_become_shorter() -> None:
    before = (SYSTEM, user(), called(ONE), returned("a", "a long output"))
    assert is_elision(before, (SYSTEM, user(), called(ONE), returned("a", "[gone]"), user("more")))
    assert not is_elision(before, (SYSTEM, user(), called(ONE), returned("a", "a different long output")))
    assert not is_elision(before, (SYSTEM, user("x"), called(ONE), returned("a", "[gone]")))
    assert not is_elision(before, (SYSTEM, user(), called(TWO), returned("b", "[gone]")))
    assert not is_elision(before, (SYSTEM, user(), called(ONE)))

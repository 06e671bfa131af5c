"""Where two values, conversations or replies first part."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.chat import Message, Reply, ToolCall
from orchestrator.replay.comparison.diffs import (
    build_short_diff,
    describe_decision,
    find_changed_message,
    find_decision_difference,
    find_value_difference,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("then", "now", "found"),
    [
        ({"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 3]}, ("b[1]", 2, 3)),
        ({"a": 1}, {"a": 1, "b": 2}, ("b", None, 2)),
        ([1], [1, 2], ("[1]", None, 2)),
        ({"a": 1}, {"a": True}, ("a", 1, True)),
        ("x", "x", None),
    ],
)
def test_the_first_difference_has_a_path(then: Any, now: Any, found: Any) -> None:
    assert find_value_difference(then, now) == found


@given(JSON)
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    assert find_value_difference(value, value) is None


def test_the_first_message_that_differs_is_shown_with_what_is_new_in_it() -> None:
    system, brief = Message(role="system", text="You work."), Message(role="user", text="a\nb\nc took 0.1 s")
    other = brief.model_copy(update={"text": "a\nB\nc took 7.5 s"})
    found = find_changed_message((system, brief), (system, other))
    assert found is not None
    what, diff = found
    assert what == "message 1 (user)"
    assert diff[-4:] == (" a", "-b", "+B", " c took <duration>")


def test_conversations_that_differ_in_times_only_are_the_same_and_a_longer_one_is_not() -> None:
    one, other = (Message(role="tool", call_id="c", text=f"in 0.{n}s") for n in (1, 2))
    assert find_changed_message((one,), (other,)) is None
    found = find_changed_message((one,), (other, Message(role="user", text="go on")))
    assert found is not None
    assert found[0] == "message 1 (user)"


def test_a_diff_of_very_long_texts_is_cut() -> None:
    diff = build_short_diff("\n".join(map(str, range(500))), "\n".join(map(str, range(1000, 1500))))
    assert len(diff) == 41
    assert diff[-1].endswith("more lines]")


def uses(name: str, arguments: str) -> Reply:
    return Reply(tool_calls=(ToolCall(id="c", name=name, arguments=arguments),))


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (uses("submit_verdict", '{"decision": "revise", "reasons": ["x"]}'), "revise"),
        (uses("submit_plan", '{"tasks": [{"key": "a"}, {"key": "b"}]}'), "plan a, b"),
        (uses("submit_plan", '{"tasks": "none"}'), "plan without tasks"),
        (uses("finish", '{"summary": "done"}'), "finish"),
        (uses("shell", '{"command": "make test"}'), "shell make test"),
        (uses("shell", "{broken"), "shell {broken"),
        (Reply(text="I like it"), "says 'I like it'"),
    ],
)
def test_a_reply_is_told_by_what_it_decides(reply: Reply, said: str) -> None:
    assert describe_decision(reply) == said


def test_two_replies_part_at_a_path_that_names_the_tool() -> None:
    then, now = (uses("submit_verdict", f'{{"decision": "{word}"}}') for word in ("approve", "reject"))
    assert find_decision_difference(then, now) == ("submit_verdict.decision", "approve", "reject")
    assert find_decision_difference(then, uses("finish", "{}")) == ("calls[0].tool", "submit_verdict", "finish")
    assert find_decision_difference(then, then) is None

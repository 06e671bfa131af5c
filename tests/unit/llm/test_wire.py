"""Our messages in OpenAI's shapes."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.chat import Message, ToolCall
from orchestrator.llm.litellm_adapter.message_conversion import render_arguments, render_messages, render_tools
from orchestrator.llm.litellm_adapter.reasoning import ReasoningWriter, join_reasoning, read_reasoning
from tests.loopback.builders import SHELL, SYSTEM, called, request, returned, user


def test_messages_of_every_role_are_mapped() -> None:
    calls = (ToolCall(id="a", name="shell", arguments='{"command":  "ls"}'), ToolCall(id="b", name="x", arguments=""))
    sent = render_messages(
        (SYSTEM, user("Hi."), called(*calls), returned("a"), Message(role="assistant", text="Done.")),
        ReasoningWriter(request()),
    )
    assert sent == [
        {"role": "system", "content": "You are a careful worker."},
        {"role": "user", "content": "Task: api\nHi."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "shell", "arguments": '{"command":  "ls"}'}},
                {"id": "b", "type": "function", "function": {"name": "x", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
        {"role": "assistant", "content": "Done."},
    ]


def test_a_message_without_words_is_not_sent_empty() -> None:
    assert render_messages((Message(role="assistant"), returned("a", "")), ReasoningWriter(request())) == [
        {"role": "assistant", "content": "(empty)"},
        {"role": "tool", "tool_call_id": "a", "content": "(empty)"},
    ]


def test_tools_are_mapped() -> None:
    assert render_tools((SHELL,), "openai/x") == [
        {
            "type": "function",
            "function": {"name": "shell", "description": "Run a command.", "parameters": SHELL.parameters},
        }
    ]


def test_models_of_one_provider_share_no_schema_as_adapters_change_them_in_place() -> None:
    (gemini,) = render_tools((SHELL,), "vertex_ai/gemini-2.5-pro")
    gemini["function"]["parameters"].clear()
    (claude,) = render_tools((SHELL,), "vertex_ai/claude-sonnet-4-5")
    assert claude["function"]["parameters"] == SHELL.parameters


def test_malformed_arguments_are_sent_back_as_an_object_that_quotes_them() -> None:
    assert json.loads(render_arguments('{"path": ')) == {"malformed": '{"path": '}
    assert json.loads(render_arguments("[1]")) == {"malformed": "[1]"}
    assert json.loads(render_arguments("[" * 100_000)) == {"malformed": "[" * 4_000}


@settings(deadline=None)
@given(st.text())
def test_arguments_sent_back_are_always_an_object(text: str) -> None:
    assert isinstance(json.loads(render_arguments(text)), dict)


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.integers()))
def test_good_arguments_are_sent_back_unchanged(arguments: dict[str, int]) -> None:
    text = json.dumps(arguments, indent=1)
    assert render_arguments(text) == text


@pytest.mark.parametrize(
    "odd",
    [
        {"reasoning_content": 5, "thinking_blocks": "text"},
        {"thinking_blocks": [1, None, "x"], "provider_specific_fields": "odd"},
        {"reasoning_content": " \n", "provider_specific_fields": {"reasoning_details": [[]]}},
        {"reasoning_details": [{"text": float("nan")}]},
    ],
)
def test_thinking_of_an_odd_shape_is_none(odd: dict[str, object]) -> None:
    assert read_reasoning(SimpleNamespace(**odd)) is None
    assert read_reasoning(SimpleNamespace(**join_reasoning([SimpleNamespace(**odd)]))) is None

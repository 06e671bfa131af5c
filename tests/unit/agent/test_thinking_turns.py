"""Thinking in turns: what of it stays where old observations are left out, and how a conversation is measured."""

from dataclasses import replace

import pytest

from orchestrator.agent.context_size import CHARS_PER_TOKEN, ContextMeter
from orchestrator.agent.history import SessionHistory, Turn
from orchestrator.agent.reasoning_redaction import hide_reasoning_secrets
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Message, Reasoning, ToolCall
from orchestrator.llm.reasoning_rules import ReasoningRule, find_reasoning_rule, find_strictest_rule

WINDOW = 4_000
THOUGHT = Reasoning(text="thinking", blocks='{"thinking_blocks":[]}')


def turn(number: int, *, calls: bool = True, tokens: int = 0, size: int = 3_000) -> Turn:
    call = ToolCall(id=f"c{number}", name="read", arguments="{}")
    observations = {call.id: "x" * size} if calls else {}
    usage = Usage(calls=1, input_tokens=tokens)
    return Turn("", (call,) if calls else (), observations, reasoning=THOUGHT, usage=usage)


def thinking_kept(turns: list[Turn], rule: ReasoningRule) -> list[bool]:
    messages = SessionHistory("s", "b", turns).build_messages(WINDOW, rule)
    return [message.reasoning is not None for message in messages if message.role == "assistant"]


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        (ReasoningRule.ALL, [True] * 5),
        (ReasoningRule.OPEN_LOOP, [False, False, True, True, True]),
        (ReasoningRule.OPTIONAL, [False, False, False, True, True]),
    ],
)
def test_thinking_leaves_old_turns_only_where_the_provider_allows_it(rule: ReasoningRule, kept: list[bool]) -> None:
    turns = [turn(0), turn(1, calls=False), *map(turn, range(2, 5))]
    assert thinking_kept(turns, rule) == kept


def test_thinking_that_was_left_out_stays_out_so_that_requests_extend_each_other() -> None:
    turns = [turn(0), turn(1), turn(2), turn(3, calls=False)]
    history = SessionHistory("s", "b", turns)
    before = history.build_messages(WINDOW, ReasoningRule.OPEN_LOOP)
    history.turns.append(turn(4, size=10))
    assert history.build_messages(WINDOW, ReasoningRule.OPEN_LOOP)[: len(before)] == before


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        ("deepseek/deepseek-reasoner", ReasoningRule.ALL),
        ("openai/deepseek-v4", ReasoningRule.ALL),
        ("anthropic/claude-sonnet-4-5", ReasoningRule.OPEN_LOOP),
        ("claude-sonnet-4-5", ReasoningRule.OPEN_LOOP),
        ("gemini/gemini-2.5-pro", ReasoningRule.OPEN_LOOP),
        ("openai/responses/o4-mini", ReasoningRule.OPEN_LOOP),
        ("openai/gpt-oss-120b", ReasoningRule.OPTIONAL),
        ("ollama_chat/qwen3", ReasoningRule.OPTIONAL),
    ],
)
def test_the_rule_is_that_of_the_models_provider(model: str, rule: ReasoningRule) -> None:
    assert find_reasoning_rule(model) == rule
    assert find_strictest_rule(("openai/gpt-4o", model)) == rule


def test_a_digest_tells_thinking_apart_and_is_as_of_old_without() -> None:
    plain = Message(role="assistant", text="x")
    assert plain.digest.startswith(b'["assistant", null, []]')
    thought = Message(role="assistant", text="x", reasoning=THOUGHT)
    assert len({plain.digest, thought.digest, Message(role="assistant", text="x", model="m").digest}) == 2
    assert thought.size_chars == plain.size_chars + len(THOUGHT.blocks)


def test_blocks_that_hold_a_secret_in_any_string_are_withheld_whole() -> None:
    def hide(text: str) -> str:
        return text.replace('a"b', "[redacted]")

    escaped = Reasoning(text='so a"b', blocks='{"thinking_blocks":[{"thinking":"so a\\u0022b","signature":"s"}]}')
    assert hide_reasoning_secrets(escaped, hide) == Reasoning(text="so [redacted]", is_withheld=True)
    assert hide_reasoning_secrets(THOUGHT, hide) == THOUGHT


def test_a_conversation_is_measured_by_what_was_counted_for_the_latest_request() -> None:
    meter = ContextMeter()
    assert meter.count_tokens(400) == 400 / CHARS_PER_TOKEN
    meter.record_request(3_000, Usage(input_tokens=1_000))
    assert meter.count_tokens(3_000 + 600) == 1_000 + 600 / 3


@pytest.mark.parametrize("tokens", [0, 1, 10**9])
def test_a_count_that_cannot_be_of_the_request_is_ignored(tokens: int) -> None:
    meter = ContextMeter()
    meter.record_request(100_000, Usage(input_tokens=tokens))
    assert meter.chars_per_token == CHARS_PER_TOKEN


def test_observations_are_left_out_earlier_where_tokens_are_short() -> None:
    def count_whole(tokens_per_char: float) -> int:
        turns, sent = [], 2
        for number in range(3):
            turns.append(turn(number, tokens=int(sent * tokens_per_char), size=2_400))
            sent = sum(len(message.text) for message in SessionHistory("s", "b", turns).build_messages(10**9))
        messages = SessionHistory("s", "b", turns).build_messages(WINDOW)
        return sum(message.text.startswith("xxx") for message in messages)

    assert (count_whole(0.25), count_whole(0.5)) == (3, 2)


def test_thinking_that_no_provider_has_to_get_leaves_no_output_out() -> None:
    turns = [replace(turn(number, size=400), reasoning=Reasoning(text="t" * 3_000)) for number in range(8)]
    messages = SessionHistory("s", "b", turns).build_messages(WINDOW, ReasoningRule.OPTIONAL)
    assert sum(message.text == "x" * 400 for message in messages) == len(turns)


def test_blocks_that_are_nested_too_deep_to_be_searched_are_withheld() -> None:
    deep = Reasoning(text="so", blocks='{"thinking_blocks":[' + "[" * 900 + "]" * 900 + "]}")
    assert hide_reasoning_secrets(deep, str) == Reasoning(text="so", is_withheld=True)

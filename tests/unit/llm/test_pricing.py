"""Costs are exact decimals, and what nobody knows stays unknown."""

from decimal import Decimal
from types import SimpleNamespace

import pytest

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Reply, ToolCall
from orchestrator.llm.errors import Unavailable
from orchestrator.llm.litellm_adapter.message_conversion import build_reply
from orchestrator.llm.litellm_adapter.pricing import Price, find_stated_cost
from tests.loopback.builders import called, request, returned


def response(**fields: object) -> SimpleNamespace:
    message = SimpleNamespace(content="Hi.", tool_calls=None)
    choice = SimpleNamespace(message=message, finish_reason="stop")
    return SimpleNamespace(**{"choices": [choice], "model": "m", "usage": None, "_hidden_params": {}, **fields})


def test_a_price_per_million_tokens_counts_cached_input_apart() -> None:
    usage = Usage(input_tokens=1_000, cached_tokens=400, output_tokens=100)
    assert Price(input_usd=Decimal(3), output_usd=Decimal(15), cached_usd=Decimal("0.3")).compute_cost(
        usage
    ) == Decimal("0.00342")
    assert Price(input_usd=Decimal(3), output_usd=Decimal(15)).compute_cost(usage) == Decimal("0.0045")


@pytest.mark.parametrize(
    ("cost", "header", "usd"),
    [
        (0.0123, None, Decimal("0.0123")),
        (None, "0.5", Decimal("0.5")),
        (0, "0.5", Decimal("0.5")),
        (0.0, None, None),
        (-1, None, None),
        (None, "free", None),
        (float("nan"), None, None),
        (True, None, None),
    ],
)
def test_a_gateways_own_word_counts_if_it_is_a_positive_amount(
    cost: object, header: str | None, usd: Decimal | None
) -> None:
    headers = {} if header is None else {"llm_provider-x-litellm-response-cost": header}
    stated = response(usage=SimpleNamespace(cost=cost), _hidden_params={"additional_headers": headers})
    assert find_stated_cost(stated) == usd


def test_a_server_that_counts_no_tokens_is_estimated_and_unpriced() -> None:
    step = called(ToolCall(id="a", name="shell", arguments="{}"), text="12345678")
    asked = request(step, returned("a", "x" * 39))
    words = sum(len(message.text) for message in asked.messages) + len("shell{}")
    assert build_reply(response(), asked, None, 1.0) == Reply(
        text="Hi.",
        model="m",
        finish_reason="stop",
        seconds=1.0,
        usage=Usage(calls=1, input_tokens=-(-words // 4), output_tokens=1, unpriced_calls=1),
    )


def test_what_a_provider_leaves_out_is_filled_in() -> None:
    function = SimpleNamespace(name="shell", arguments=None)
    other = SimpleNamespace(name=None, arguments={"a": 1})
    calls = [SimpleNamespace(id=None, function=function), SimpleNamespace(id="x", function=other)]
    choice = SimpleNamespace(message=SimpleNamespace(content=None, tool_calls=calls), finish_reason=None)
    reply = build_reply(response(choices=[choice], model=None), request(turn=4), Decimal("0.5"), 0.0)
    assert reply.tool_calls == (
        ToolCall(id="call_4_0", name="shell", arguments=""),
        ToolCall(id="x", name="", arguments='{"a": 1}'),
    )
    assert (reply.text, reply.model, reply.finish_reason) == ("", "openai/worker", "")
    assert (reply.usage.cost_usd, reply.usage.unpriced_calls) == (Decimal("0.5"), 0)


def test_a_response_without_choices_is_no_reply() -> None:
    with pytest.raises(Unavailable, match="holds no choice"):
        build_reply(response(choices=[]), request(), None, 0.0)


def test_calls_that_share_an_id_each_get_their_own() -> None:
    function = SimpleNamespace(name="read", arguments="{}")
    calls = [SimpleNamespace(id=name, function=function) for name in ("call", "call", "b")]
    choice = SimpleNamespace(message=SimpleNamespace(content=None, tool_calls=calls), finish_reason="tool_calls")
    reply = build_reply(response(choices=[choice]), request(turn=4), None, 0.0)
    assert [one.id for one in reply.tool_calls] == ["call_4_0", "call_4_1", "b"]


def test_halves_of_surrogate_pairs_do_not_get_past_the_provider() -> None:
    function = SimpleNamespace(name="re\udc80ad", arguments='{"path": "\ud83d"}')
    message = SimpleNamespace(content="\ud83d\ude00 \ud83d", tool_calls=[SimpleNamespace(id="a", function=function)])
    reply = build_reply(
        response(choices=[SimpleNamespace(message=message, finish_reason="stop")]), request(), None, 0.0
    )
    assert (reply.text, reply.tool_calls) == (
        "\U0001f600 \ufffd",
        (ToolCall(id="a", name="re\ufffdad", arguments='{"path": "\ufffd"}'),),
    )

"""What a call reserves, from what is known before it."""

from decimal import Decimal

import pytest

from orchestrator.domain.budget.price import Price
from orchestrator.domain.budget.usage import Usage
from orchestrator.llm.budget import TYPICAL_OUTPUT_TOKENS, estimate_usage
from tests.loopback.builders import SHELL, request, user

PRICE = Price(input_usd=Decimal(3), output_usd=Decimal(15))


def test_the_whole_request_counts_as_input_with_its_tools() -> None:
    plain = estimate_usage(request(), PRICE, None)
    assert estimate_usage(request(user("x" * 300)), PRICE, None).input_tokens >= plain.input_tokens + 100
    assert estimate_usage(request(tools=(SHELL,)), PRICE, None).input_tokens > plain.input_tokens


@pytest.mark.parametrize(
    ("most", "earlier", "output"),
    [
        (700, None, 700),
        (700, Usage(calls=4, output_tokens=400), 700),
        (None, None, TYPICAL_OUTPUT_TOKENS),
        (None, Usage(calls=4, output_tokens=402), 201),
    ],
)
def test_output_is_what_is_allowed_else_twice_the_mean_of_earlier_calls(
    most: int | None, earlier: Usage | None, output: int
) -> None:
    reserved = estimate_usage(request(max_output_tokens=most), PRICE, earlier)
    assert (reserved.calls, reserved.output_tokens, reserved.unpriced_calls) == (1, output, 0)
    assert reserved.cost_usd == PRICE.compute_cost(reserved)


def test_without_a_price_dollars_are_learnt_from_earlier_calls_or_stay_unknown() -> None:
    earlier = Usage(calls=3, unpriced_calls=1, cost_usd=Decimal("0.50"))
    assert estimate_usage(request(), None, earlier).cost_usd == Decimal("0.25")
    for unknown in (None, Usage(calls=2, unpriced_calls=2)):
        assert estimate_usage(request(), None, unknown).cost_text == "unknown"

"""The estimated cost of a call, before it is made."""

import json

from orchestrator.domain.budget.price import Price
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Request

CHARS_PER_TOKEN = 3
"""Fewer than the usual four: code has more tokens than prose, and a reservation should rather be too high."""
TYPICAL_OUTPUT_TOKENS = 1_000
"""Output tokens of a call on a model that has not answered yet and whose output nobody bounds."""
OUTPUT_MARGIN = 2
"""How many times the mean of a model's earlier calls is reserved."""


def estimate_usage(request: Request, price: Price | None, earlier: Usage | None) -> Usage:
    """Return what a call may use: input by its size, output by `max_output_tokens` or the model's earlier calls.

    Args:
        request: the call.
        price: what the model charges, if it is known. Else dollars are estimated by what earlier calls cost.
        earlier: what the model's calls of this run cost so far; None before the first.
    """
    usage = Usage(calls=1, input_tokens=_input(request), output_tokens=_output(request, earlier))
    if price is not None:
        return usage.model_copy(update={"cost_usd": price.compute_cost(usage)})
    priced = earlier.calls - earlier.unpriced_calls if earlier else 0
    if earlier is None or not priced:
        return usage.model_copy(update={"unpriced_calls": 1})
    return usage.model_copy(update={"cost_usd": earlier.cost_usd / priced})


def _input(request: Request) -> int:
    chars = sum(len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters)) for tool in request.tools)
    for message in request.messages:
        chars += len(message.text) + sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    return -(-chars // CHARS_PER_TOKEN)


def _output(request: Request, earlier: Usage | None) -> int:
    if request.max_output_tokens:
        return request.max_output_tokens
    if earlier is None or not earlier.calls:
        return TYPICAL_OUTPUT_TOKENS
    return -(-OUTPUT_MARGIN * earlier.output_tokens // earlier.calls)

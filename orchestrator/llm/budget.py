"""The gate in front of every model call: it begins only when what it may cost fits into every limit that covers it.

The stop is at the call boundary: a call under way is never cut off. What fits only when calls under way turn out
cheaper than they reserved waits for them. What a call may cost is estimated before it is made.
"""

from collections.abc import Callable

import anyio

from orchestrator.config.model import BudgetSettings
from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.budget.limits import BudgetFit, BudgetRefusal, find_budget_refusal
from orchestrator.domain.budget.price import Price
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Request
from orchestrator.domain.run.state import RunState
from orchestrator.errors import LimitReached, OutOfBudget

_GO_ON = "resume with a larger one (--budget-usd USD, or --set budget.KEY=N)"
_UNPRICED = "give a limit in tokens or calls beside it (--set budget.tokens=N), or its price under [prices]"
CHARS_PER_TOKEN = 3
"""Fewer than the usual four: code has more tokens than prose, and a reservation should rather be too high."""
TYPICAL_OUTPUT_TOKENS = 1_000
"""Output tokens of a call on a model that has not answered yet and whose output nobody bounds."""
OUTPUT_MARGIN = 2
"""How many times the mean of a model's earlier calls is reserved."""


class RunBudget:
    """The limits of one run. All it keeps of its own is how many calls of this process are under way."""

    def __init__(self, settings: BudgetSettings, now: Callable[[], BudgetSettings] | None = None) -> None:
        """Set up; `now` gives the limits as they stand, where people may change them during the run."""
        self._limits = now or (lambda: settings)
        self._live = 0
        self._settled: anyio.Event | None = None

    async def reserve_call(self, state: RunState, request: Request, price: Price | None) -> Usage:
        """Return what to reserve for a call.

        The caller records it before it awaits anything else, and calls `settle_call` at the end.

        Args:
            state: the run's live state, read again after every wait.
            request: the call.
            price: what its model charges, if that is known.

        Raises:
            LimitReached: a limit of the run, the role or the model does not allow the call; says how to go on.
            OutOfBudget: a limit of the task or of one above it does not.
        """
        wanted = estimate_usage(request, price, state.spend.by_model.get(request.model))
        while True:
            covering = Accounts(state, self._limits()).iterate_call_accounts(request.role, request.model, request.task)
            refusal = find_budget_refusal(covering, wanted)
            if refusal is None:
                self._live += 1
                return wanted
            if refusal.fit is BudgetFit.NO or not self._live:
                raise _build_limit_error(refusal)
            self._settled = self._settled or anyio.Event()
            await self._settled.wait()

    def settle_call(self) -> None:
        """Settle a call that had been let through: it is over and recorded, or was cut off."""
        self._live -= 1
        if self._settled is not None:
            self._settled.set()
            self._settled = None


def _build_limit_error(refusal: BudgetRefusal) -> LimitReached | OutOfBudget:
    if refusal.is_unpriced:
        return LimitReached(f"{refusal.reason}: {_UNPRICED}")
    if refusal.account.is_task:
        return OutOfBudget(refusal.reason)
    return LimitReached(f"{refusal.reason}: {_GO_ON}", refusal.account.config_path)


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
    chars = sum(len(tool.json_text) for tool in request.tools)
    chars += sum(message.size_chars for message in request.messages)
    return -(-chars // CHARS_PER_TOKEN)


def _output(request: Request, earlier: Usage | None) -> int:
    if request.max_output_tokens:
        return request.max_output_tokens
    if earlier is None or not earlier.calls:
        return TYPICAL_OUTPUT_TOKENS
    return -(-OUTPUT_MARGIN * earlier.output_tokens // earlier.calls)

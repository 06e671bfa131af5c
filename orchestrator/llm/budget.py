"""What a run may spend. The stop is at the call boundary: a call under way is never cut off."""

from orchestrator.config.model import BudgetSettings
from orchestrator.domain.usage import Usage
from orchestrator.errors import LimitReached


class Budget:
    """The limits of one run; 0 in the settings means no limit. A limit in USD alone does not go with unknown prices."""

    def __init__(self, settings: BudgetSettings) -> None:
        self._settings = settings

    def check(self, spent: Usage) -> None:
        """Whether another call may begin after `spent`.

        Raises:
            LimitReached: which limit, how much was spent, and how to go on.
        """
        limits = self._settings
        reached = [
            f"{name} budget of {shown} is spent ({have})"
            for name, limit, amount, shown, have in (
                ("USD", limits.usd, float(spent.cost_usd), f"${limits.usd:.2f}", spent.price),
                ("token", limits.tokens, spent.tokens, f"{limits.tokens:,}", f"{spent.tokens:,}"),
                ("call", limits.calls, spent.calls, f"{limits.calls:,}", f"{spent.calls:,}"),
            )
            if limit and amount >= limit
        ]
        if reached:
            raise LimitReached(f"the {reached[0]}: resume with a larger one (--budget-usd, or [budget])")
        if limits.usd and spent.unpriced_calls and not (limits.tokens or limits.calls):
            raise LimitReached(
                f"the USD budget of ${limits.usd:.2f} cannot be kept, since nobody knows the price of a model in use: "
                "resume with [budget] tokens or calls as the limit (--set budget.tokens=N)"
            )

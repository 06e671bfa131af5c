"""The bounds of a planner's next plan in a run as it stands: its place in the tree, and what its slice has left."""

from orchestrator.config.model import Config
from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.run.plan import PlanLimits
from orchestrator.domain.run.state import RunState, TaskState


def build_plan_limits(run: RunState, config: Config, planner: TaskState) -> PlanLimits:
    """Return the bounds of a plan that a planner, or a person in its place, makes now."""
    settings = config.plan
    left_usd, left_tokens = Accounts(run, config.budget).get_remaining_budget(planner.spec.id)
    return PlanLimits(
        depth=planner.spec.depth,
        max_depth=settings.max_depth,
        max_children=settings.max_children,
        variants=tuple(sorted(config.roles.worker.variants)),
        left_usd=left_usd,
        left_tokens=left_tokens,
        has_prices=not run.spend.total.unpriced_calls,
        max_best_of=settings.max_best_of,
    )

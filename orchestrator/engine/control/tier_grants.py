"""The tier grants of a run: tiers as the user's configuration and answers grant them."""

from collections.abc import Callable

from orchestrator.config.model import Config
from orchestrator.domain.chat import Role
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.ids import TaskId, build_approval_item, build_tier_subject
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.engine.control.approvals import set_expiry
from orchestrator.journal.journal import Journal

_ASKED = (
    "Asked as {item}. It is not granted yet, and may never be. Go on with what you can do without it; if nothing is "
    "left to do, use `finish` and say what remains: the task is taken up again when there is an answer."
)
_MOST_TEXT = 500


class RunTierGrants:
    """A `ports.TierGrants` that asks in the run's inbox; `config` gives the settings as they stand.

    A task's own grant counts before its role's.
    """

    def __init__(self, config: Callable[[], Config], journal: Journal) -> None:
        self._config = config
        self._journal = journal

    def get_tier(self, role: Role, task: TaskId) -> Tier:
        """Return the tier of a role's commands in a task."""
        config = self._config()
        match role:
            case "worker":
                return config.hands.tiers.get(task, config.roles.worker.tier)
            case "planner":
                return config.roles.planner.tier
        return Tier.FILES

    def get_ceiling(self) -> Tier:
        """Return the highest tier that a worker may ask for."""
        return self._config().hands.ask_tier

    async def request_tier(self, task: TaskId, tier: Tier, reason: str) -> str:
        """Put a wish for a higher tier into the user's inbox, once for each tier of a task."""
        has, asked = self.get_tier("worker", task), self._journal.state.approvals.get(_build_item(task, tier))
        if tier <= has:
            return f"Your commands run at tier {int(has)} already: {has.description}."
        if tier > self.get_ceiling():
            return f"Refused: tier {int(tier)} ({tier.description}) is not to be had in this run. Do without it."
        if asked is not None and asked.decision == "deny":
            return f"Refused by the user before: {asked.reason or 'no reason given'}. Do without it."
        if asked is None:
            title = f"let the commands of {task} run at tier {int(tier)}: {tier.description}"
            detail, settings = (f"its worker says: {reason[:_MOST_TEXT]}",), {"hands": {"tiers": {task: int(tier)}}}
            item, subject = _build_item(task, tier), build_tier_subject(task, int(tier))
            approval = Approval(
                item=item, matter="tier", subject=subject, title=title, detail=detail, settings=settings
            )
            approval = set_expiry(approval, self._config().approval, self._journal.read_clock())
            await self._journal.append(ApprovalRequested(approval=approval))
        return _ASKED.format(item=_build_item(task, tier))


def _build_item(task: TaskId, tier: Tier) -> str:
    return build_approval_item("tier", build_tier_subject(task, int(tier)))

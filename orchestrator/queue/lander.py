"""Landing: compose, test, search the red, move the branch. Every value the branch ever has was green."""

from collections.abc import Sequence

from orchestrator.domain.ids import UnitId
from orchestrator.ports.gate import Gate
from orchestrator.ports.hooks import NO_HOOKS, Hooks
from orchestrator.ports.ledger import Ledger
from orchestrator.queue.composition import Composer
from orchestrator.queue.landing_round import LandingResult, LandingTools
from orchestrator.queue.pr_branch import PrBranch
from orchestrator.queue.targeted_round import DEFAULT_SEARCH, TargetedRound, TargetedSearchOptions
from worktrees.errors import RefMoved

__all__ = ["Lander", "LandingResult", "TargetedSearchOptions"]


class Lander:
    """Lands units on one branch, one round at a time. What a hook vetoes is as red as what the gate refuses."""

    def __init__(self, ledger: Ledger, gate: Gate, branch: PrBranch, hooks: Hooks = NO_HOOKS) -> None:
        self.tools = LandingTools(ledger, gate, branch, hooks)

    async def land_units(
        self,
        name: str,
        units: Sequence[UnitId],
        composer: Composer,
        targeting: TargetedSearchOptions = DEFAULT_SEARCH,
        *,
        atomic: bool = False,
        moves: bool = True,
    ) -> LandingResult:
        """Find the units that are green together on top of the branch, land them, eject the guilty.

        Args:
            name: the round's name in events.
            units: in landing order.
            composer: how units become a commit.
            targeting: how to search a red union for the causes of each symptom.
            atomic: land all units or none; the guilty are found and ejected all the same.
            moves: without it nothing lands, and `landed` of the result is what could have.

        Raises:
            PersonNeeded: the branch is checked out somewhere, or somebody has made it red.
            EnvironmentProblem: the gate could not run.
        """
        while True:
            landing = TargetedRound(self.tools, composer, name, targeting)
            try:
                return await landing.run(tuple(units), atomic=atomic, moves=moves)
            except RefMoved:
                continue  # somebody else moved the branch: judge again on top of what it is now

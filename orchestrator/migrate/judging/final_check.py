"""The last look before anything is published, and which shard is to blame if it is red."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.domain.event.landing import LandedPart
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.context import RunContext
from orchestrator.migrate.judging.gate import MigrationGate
from orchestrator.ports.gate import GateResult

T = TypeVar("T")
_SHOWN = 3


@dataclass(frozen=True)
class FinalCheck:
    """The gate's last word, and the shard that brought what is red; empty where it is green or no single shard did."""

    result: GateResult
    red_shard: str = ""

    @property
    def reason(self) -> str:
        """The reason why nothing may be published, in words; empty if it may."""
        difference = self.result.difference
        if difference.is_green:
            return ""
        origin = "no single shard brought it"
        if self.red_shard:
            origin = f"it came with shard {self.red_shard}"
        return f"the final checks are red: {join_limited(list_problems(difference), _SHOWN)}; {origin}"


def list_problems(difference: Difference) -> tuple[str, ...]:
    """Return everything that is wrong in a difference, by name."""
    return (*difference.lost_tests, *difference.unsettled, *difference.problems)


async def run_final_check(context: RunContext, gate: MigrationGate, commit: CommitId) -> FinalCheck:
    """Judge what landed at level final. Where it is red, search the commits of the shards for the first one that is.

    Raises:
        EnvironmentProblem: a check could not be run.
    """
    result = await gate.judge_final(commit, await context.read_tree_id(commit))
    if result.difference.is_green:
        return FinalCheck(result)
    wrong = set(list_problems(result.difference))

    async def is_red(at: CommitId, tree: TreeId) -> bool:
        return not wrong.isdisjoint(list_problems((await gate.judge_final(at, tree)).difference))

    run = context.state.run
    if await is_red(run.base, run.base_tree):
        return FinalCheck(result)
    parts: list[LandedPart] = []
    for landing in context.state.landings:
        parts += landing.parts

    async def is_part_red(part: LandedPart) -> bool:
        return await is_red(part.commit, await context.read_tree_id(part.commit))

    first = await find_first_red(parts, is_part_red)
    return FinalCheck(result, first.name if first else "")


async def find_first_red(items: Sequence[T], is_red: Callable[[T], Awaitable[bool]]) -> T | None:
    """Return the first item that is red, where each one after a red one is red as well, in log2 questions.

    None without any.

    The last item is taken to be red.
    """
    low, high = 0, len(items) - 1
    while low < high:
        middle = (low + high) // 2
        if await is_red(items[middle]):
            high = middle
        else:
            low = middle + 1
    return items[low] if items else None

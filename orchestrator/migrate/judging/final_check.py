"""The last look before anything is published, and which shard is to blame if it is red."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.domain.event.landing import LandedPart
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import Difference
from orchestrator.engine.context import RunContext
from orchestrator.migrate.judging.gate import MigrationGate
from orchestrator.ports.gate import GateResult

T = TypeVar("T")


@dataclass(frozen=True)
class FinalCheck:
    """The gate's last word, and the shard with which what is red came; empty where it is green or came with none."""

    result: GateResult
    red_shard: str = ""

    @property
    def reason(self) -> str:
        """Why nothing may be published, in words; empty if it may."""
        difference = self.result.difference
        if difference.is_green:
            return ""
        red = list_problems(difference)
        shown = ", ".join(red[:3]) + (f" and {len(red) - 3} more" if len(red) > 3 else "")
        if self.red_shard:
            with_whom = f"; it came with shard {self.red_shard}"
        else:
            with_whom = "; no single shard brought it"
        return f"the final checks are red: {shown}{with_whom}"


def list_problems(difference: Difference) -> tuple[str, ...]:
    """Everything that is wrong in a difference, by name."""
    lost = (*difference.new_failures, *difference.missing_tests, *difference.newly_skipped, *difference.unsettled)
    return (*lost, *difference.problems)


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
    parts = [part for landing in context.state.landings for part in landing.parts]

    async def is_part_red(part: LandedPart) -> bool:
        return await is_red(part.commit, await context.read_tree_id(part.commit))

    first = await find_first_red(parts, is_part_red)
    return FinalCheck(result, first.name if first else "")


async def find_first_red(items: Sequence[T], is_red: Callable[[T], Awaitable[bool]]) -> T | None:
    """The first item that is red, where each one after a red one is red as well, in log2 questions; None without any.

    The last item is taken to be red.
    """
    low, high = 0, len(items) - 1
    while low < high:
        middle = (low + high) // 2
        if await is_red(items[middle]):
            high = middle
        else:
            low = middle + 1
    if items:
        return items[low]
    return None

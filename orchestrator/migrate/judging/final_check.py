"""The last look before anything is published, and which shard is to blame if it is red."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from orchestrator.domain.event.landing import LandedPart
from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.context import RunContext
from orchestrator.migrate.judging.gate import MigrationGate

T = TypeVar("T")
_SHOWN = 3


def _list_problems(difference: Difference) -> tuple[str, ...]:
    """Return everything that is wrong in a difference, by name."""
    return (*difference.lost_tests, *difference.unsettled, *difference.problems)


async def explain_red_end(context: RunContext, gate: MigrationGate, commit: CommitId) -> str:
    """Judge what landed at level final; return why nothing may be published, in words; empty if it may.

    Where it is red, the commits of the shards are searched for the first one that is.

    Raises:
        EnvironmentProblem: a check could not be run.
    """

    async def list_problems_at(commit: CommitId) -> tuple[str, ...]:
        return _list_problems((await gate.judge_final(commit, await context.read_tree_id(commit))).difference)

    if not (problems := await list_problems_at(commit)):
        return ""
    origin, parts = "no single shard brought it", list[LandedPart]()
    if set(problems).isdisjoint(await list_problems_at(context.state.run.base)):
        for landing in context.state.landings:
            parts += landing.parts

    async def is_part_red(part: LandedPart) -> bool:
        return not set(problems).isdisjoint(await list_problems_at(part.commit))

    if first := await find_first_red(parts, is_part_red):
        origin = f"it came with shard {first.name}"
    return f"the final checks are red: {join_limited(problems, _SHOWN)}; {origin}"


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

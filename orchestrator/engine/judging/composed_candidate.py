"""A candidate as it would land: on top of the branch, and of what is about to land before it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.domain.event.work import CandidateComposed, CandidateTaken
from orchestrator.domain.ids import CommitId, TreeId, UnitId, parse_unit_task
from orchestrator.domain.judging.check import ReceiptStatus
from orchestrator.domain.run.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import JudgedChange, read_candidate_changes
from orchestrator.engine.judging.support_files import read_base_gate
from orchestrator.engine.merging.landing_composer import build_landing_composer
from orchestrator.judge.gate.check_runner import build_check_key
from orchestrator.queue.chain_composer import ChainComposer
from orchestrator.queue.composition import ComposedUnion, UnitConflict


@dataclass(frozen=True)
class ComposedHead:
    """A commit that a candidate may land on: the branch's tip with units that wait for their landing."""

    commit: CommitId
    units: tuple[UnitId, ...] = ()


async def compose_candidate(context: RunContext, state: TaskState, candidate: CandidateTaken) -> JudgedChange | None:
    """Return a candidate on top of what lands before it, so that a receipt of its tree is one of the landing.

    What lands before it is the branch with as many waiting candidates as have been tested together. None if that is
    the base of its attempt, or the candidate conflicts with it.
    """
    recorded = await context.action_order.await_composition(state.spec.id, candidate.number)
    tip = await context.read_branch_tip() or context.state.run.base
    if tip != (context.state.head or context.state.run.base):
        return None  # somebody else moved the branch: the queue looks at that
    composer = build_landing_composer(context, [state.spec.id])
    for head in await _compose_heads(context, state, tip, recorded):
        union = await composer.compose_union(head.commit, [state.unit])
        if isinstance(union, UnitConflict):
            continue
        if head.commit == state.attempts[-1].base:
            return None
        composed = {"task": state.spec.id, "number": candidate.number, "tip": tip, "units": head.units}
        await context.journal.append(CandidateComposed(**composed, commit=union.commit, tree=union.tree))
        return await _read_change(context, head.commit, union)
    return None


async def _compose_heads(
    context: RunContext, state: TaskState, tip: CommitId, recorded: Sequence[UnitId] | None
) -> Iterable[ComposedHead]:
    """Return what a candidate may be composed with, best first; in a replay what was recorded, if anything."""
    if context.action_order.gathers_news:
        waiting = context.passed_candidates.list_waiting(context.state, state.spec.id)
        return _iterate_tested_heads(context, tip, await _compose_chain(context, tip, [task.unit for task in waiting]))
    if recorded is None:
        return []
    return [await _compose_recorded_head(context, tip, recorded)]


async def _compose_chain(
    context: RunContext, tip: CommitId, units: Sequence[UnitId]
) -> list[tuple[UnitId, ComposedUnion]]:
    """Return the units that can be composed one after the other on the branch's tip, each with all before it."""
    landing = build_landing_composer(context, list(map(parse_unit_task, units)))
    composer = ChainComposer(landing, context.passed_candidates.composed)
    chain, head = list[tuple[UnitId, ComposedUnion]](), tip
    async with context.passed_candidates.composing:
        for unit in units:
            union = await composer.compose_union(head, [unit])
            if isinstance(union, UnitConflict):
                continue
            head = union.commit
            chain.append((unit, union))
    return chain


def _iterate_tested_heads(
    context: RunContext, tip: CommitId, chain: Sequence[tuple[UnitId, ComposedUnion]]
) -> Iterator[ComposedHead]:
    """Yield each part of a chain whose tree was tested as a whole, the longest first, and then the branch's tip."""
    units = tuple(unit for unit, _ in chain)
    for length in range(len(chain), 0, -1):
        _, union = chain[length - 1]
        if _is_tested(context, union.tree):
            yield ComposedHead(union.commit, units[:length])
    yield ComposedHead(tip)


async def _compose_recorded_head(context: RunContext, tip: CommitId, units: Sequence[UnitId]) -> ComposedHead:
    """Return the union of units on the tip, without those that have landed already."""
    waiting = [unit for unit in units if not context.state.has_landed(unit)]
    composer = build_landing_composer(context, list(map(parse_unit_task, waiting)))
    union = await composer.compose_union(tip, waiting)
    if isinstance(union, UnitConflict):
        return ComposedHead(tip)
    return ComposedHead(union.commit, tuple(waiting))


def _is_tested(context: RunContext, tree: TreeId) -> bool:
    """Return True if every check of the gate has run on a tree."""
    found = set()
    for receipt in context.state.list_receipts_on(tree):
        if receipt.status == ReceiptStatus.COMPLETED:
            found.add(receipt.check)
    return found.issuperset(map(build_check_key, context.gate.checks))


async def _read_change(context: RunContext, head: CommitId, union: ComposedUnion) -> JudgedChange:
    changes = await read_candidate_changes(context.repository.git, head, union.commit)
    reading = await read_base_gate(context, head, changes.files)
    return JudgedChange(union.commit, union.tree, head, changes.with_reading(reading))

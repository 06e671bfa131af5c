"""A candidate as it would land: on top of the branch, and of what is about to land before it."""

from collections.abc import Sequence

from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.domain.judging.check import ReceiptStatus
from orchestrator.domain.run.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import JudgedChange, read_candidate_changes
from orchestrator.engine.judging.support_files import read_base_gate
from orchestrator.engine.merging.landing_composer import build_landing_composer
from orchestrator.judge.gate.check_runner import build_check_key
from orchestrator.queue.composition import ComposedUnion, MergeComposer, UnitConflict


async def compose_candidate(context: RunContext, state: TaskState, candidate: CandidateTaken) -> JudgedChange | None:
    """Return a candidate on top of what lands before it, so that a receipt of its tree is one of the landing.

    What lands before it is the branch with as many waiting candidates as have been tested together. None if that is
    the base of its attempt, or the candidate conflicts with it.
    """
    tip = await context.read_branch_tip() or context.state.run.base
    if tip != (context.state.head or context.state.run.base):
        return None  # somebody else moved the branch: the queue looks at that
    waiting = context.passed_candidates.list_waiting(context.state, state.spec.id)
    composer = build_landing_composer(context, [*(task.spec.id for task in waiting), state.spec.id])
    units = [task.unit for task in waiting]
    heads = await _compose_heads(context, composer, tip, units)
    for head in reversed(heads):
        union = await composer.compose_union(head, [state.unit])
        if isinstance(union, UnitConflict):
            continue
        if head == state.attempts[-1].base:
            return None
        return await _read_change(context, head, union)
    return None


async def _compose_heads(
    context: RunContext, composer: MergeComposer, tip: CommitId, units: Sequence[UnitId]
) -> list[CommitId]:
    """Return the branch's tip, and each union of waiting candidates on it whose tree was tested as a whole."""
    heads, head = [tip], tip
    for unit in units:
        union = await composer.compose_union(head, [unit])
        if isinstance(union, UnitConflict):
            continue
        head = union.commit
        if _is_tested(context, union.tree):
            heads.append(head)
    return heads


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

"""Merging a pull request of this repository: its target branch moves forward to a tree that the gate has passed.

A target that stands where the run began, or behind what landed, is moved to the pull request's commit. Where others
have committed on it meanwhile, both are merged and that tree is judged first. No checkout is ever touched.
"""

from dataclasses import dataclass
from typing import NoReturn

import anyio
from anyio import to_thread

from orchestrator.domain.event.forge import PrMerged, PrMerging
from orchestrator.domain.event.run import PrOpened
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.refs import format_merge_command
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.commits import build_merge_message
from orchestrator.engine.context import RunContext
from orchestrator.errors import PersonNeeded
from orchestrator.ports.effect import record_effect
from orchestrator.queue.composition import ComposedUnion
from orchestrator.queue.pr_branch import PrBranch
from worktrees.errors import RefMoved
from worktrees.object_store.merge import MergeConflict, commit_tree, is_ancestor, merge_commits
from worktrees.object_store.packs import find_existing_objects
from worktrees.ref_store.refs import read_ref

_MOVED_TRIES = 5
_SHOWN = 5


@dataclass(frozen=True)
class _TargetMove:
    """A step of the target: from `old` to `new`, whose tree is `tree`; none where both are the same."""

    old: CommitId
    new: CommitId
    tree: TreeId


async def merge_into_local_target(context: RunContext, pr: PrOpened) -> None:
    """Move the target branch of this repository to a green tree that holds the pull request; at once if it holds it.

    Raises:
        PersonNeeded: the target is missing or checked out, conflicts with what landed, or is red together with it.
        EnvironmentProblem: the gate could not be run.
        worktrees.errors.CommitNotSigned: the key cannot be used.
    """
    target = _build_target_branch(context, pr)
    for _ in range(_MOVED_TRIES):
        move = await _plan_move(context, pr, target)
        try:
            await _move_target(context, pr, target, move)
        except RefMoved:
            continue
        return
    _refuse(context, pr, f"its target {target.name} does not keep still")


async def has_local_merge_arrived(context: RunContext, merging: PrMerging) -> bool:
    """Return True if a merge in this repository that nobody saw the end of has happened."""
    git = context.repository.git
    if not merging.target or merging.new is None or not await find_existing_objects(git, [merging.new]):
        return False
    tip = await read_ref(git, f"refs/heads/{merging.target}")
    return tip is not None and await is_ancestor(git, merging.new, tip)


def _build_target_branch(context: RunContext, pr: PrOpened) -> PrBranch:
    name = context.state.run.target
    if not name:
        _refuse(context, pr, "it is meant for no branch: none was checked out when the run began, and none was named")
    return PrBranch(context.repository, name, context.state.run.base, context.landing_fence, context.branch.style)


async def _plan_move(context: RunContext, pr: PrOpened, target: PrBranch) -> _TargetMove:
    """Return the step of the target as it stands now; a tree that is new is judged before."""
    git, head = context.repository.git, CommitId(pr.head)
    tip = await read_ref(git, target.ref)
    if tip is None:
        _refuse(context, pr, f"its target {target.name} does not exist any more")
    old = CommitId(tip)
    if await is_ancestor(git, head, old):
        return _TargetMove(old, old, await context.read_tree_id(old))
    await _require_not_checked_out(context, pr, target)
    if not await is_ancestor(git, context.state.run.base, old):
        base = context.state.run.base[:12]
        _refuse(context, pr, f"its target {target.name} does not hold {base}, from which the run began")
    move = _TargetMove(old, head, await context.read_tree_id(head))
    if not await is_ancestor(git, old, head):
        move = await _merge_with_target(context, pr, target, old)
    await _require_green(context, pr, target, move)
    return move


async def _require_not_checked_out(context: RunContext, pr: PrOpened, target: PrBranch) -> None:
    place = (await to_thread.run_sync(context.repository.list_checked_out_branches)).get(target.name)
    if place is not None:
        why = f"its target {target.name} is checked out in {place}, and no checkout of yours is ever touched"
        _refuse(context, pr, f"{why}: switch that one to another branch (git switch --detach)")


async def _merge_with_target(context: RunContext, pr: PrOpened, target: PrBranch, tip: CommitId) -> _TargetMove:
    git = context.repository.git
    merged = await merge_commits(git, tip, pr.head, context.config.merge.union)
    if isinstance(merged, MergeConflict):
        paths = join_limited(merged.paths, _SHOWN)
        _refuse(context, pr, f"it conflicts with what {target.name} holds meanwhile ({tip[:12]}), in {paths}")
    tree = TreeId(merged.tree)
    message = build_merge_message(context.state, pr.branch or context.state.run.branch, target.name)
    made = CommitId(await commit_tree(git, tree, [tip, pr.head], message, context.commit_date))
    styled = await target.style_union(tip, ComposedUnion(commit=made, tree=tree))
    return _TargetMove(tip, styled.commit, tree)


async def _require_green(context: RunContext, pr: PrOpened, target: PrBranch, move: _TargetMove) -> None:
    """Judge the tree that the target is to have; one that was judged before costs nothing."""
    purpose, reruns = Purpose(f"the merge into {target.name}"), context.config.gate.reruns
    result = await context.gate.judge_tree(move.new, move.tree, purpose, reruns=reruns)
    if not result.difference.is_green:
        found = _describe_red(result.difference)
        _refuse(context, pr, f"together with what {target.name} holds meanwhile ({move.old[:12]}) it is red ({found})")


def _describe_red(red: Difference) -> str:
    return join_limited((*red.new_failures, *red.unsettled, *red.missing_tests, *red.newly_skipped), _SHOWN) or (
        "; ".join(red.problems)
    )


async def _move_target(context: RunContext, pr: PrOpened, target: PrBranch, move: _TargetMove) -> None:
    commit, key = CommitId(pr.head), context.journal.build_next_key(f"merge/{pr.ref}/{pr.head}")
    merging = PrMerging(key=key, forge=pr.forge, ref=pr.ref, commit=commit, target=target.name, new=move.new)
    with anyio.CancelScope(shield=True):  # whoever is stopped now must know whether it is merged
        async with record_effect(context.journal, merging) as happening:
            if move.new != move.old:
                await target.move_to_commit(move.old, move.new, f"orchestrate: merge {context.state.run.branch}")
            happening.done = PrMerged(key=key, forge=pr.forge, ref=pr.ref, commit=commit, new=move.new)


def _refuse(context: RunContext, pr: PrOpened, why: str) -> NoReturn:
    state = context.state
    command = format_merge_command(pr.branch or state.run.branch, state.run.target)
    raise PersonNeeded(
        f"the pull request {pr.ref} was not merged, because {why}. It stays open: mend that or merge it yourself "
        f"({command}), then orchestrate resume {state.run.run}; with --set pr.merge=never it is left to you"
    )

"""Pull requests of a migration: one for all that landed, or one for each group, green on its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.commands.migration import ALL_GROUPS
from orchestrator.domain.event.landing import RefSet, RefSetting
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.state import RunState
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import build_waiting_error
from orchestrator.engine.pull_request.proposal import (
    PullRequestProposal,
    build_pull_request_approval,
    propose_landed_work,
    propose_pull_request,
)
from orchestrator.engine.pull_request.squash import squash_commits
from orchestrator.migrate.landing import pr_groups
from orchestrator.migrate.landing.pr_body import render_migration_body
from orchestrator.ports.effect import record_effect
from orchestrator.ports.gate import Gate
from orchestrator.queue.composition import ComposedUnion
from orchestrator.queue.pr_branch import PrBranch
from worktrees.git import Git
from worktrees.object_store.merge import is_ancestor
from worktrees.object_store.trees import map_tree, read_tree_id
from worktrees.ref_store.refs import read_ref

_SHOWN = 10


@dataclass(frozen=True)
class _Ready:
    """A group whose branch is to stand at `head`, which is green on its own; `old` is where it stands."""

    group: pr_groups.PullRequestGroup
    branch: str
    old: CommitId | None
    head: CommitId


async def publish_pull_requests(context: RunContext, recipe: Recipe, gate: Gate, reason: str) -> tuple[str, ...]:
    """Open or update the pull requests of what has landed; nothing if nothing landed.

    Groups that are not green alone are opened as one, and if that is not green either, there is one pull request for
    everything; with `merge.mode = "pr-only"` they are kept back.

    At most `max_open_prs` are open at a time, but for those that a person asks for; the others wait.

    Args:
        context: the run.
        recipe: as it stands now.
        gate: judges each group's branch as the queue's unions are judged.
        reason: how the migration went, in words.

    Returns:
        The groups that are kept back.

    Raises:
        PersonNeeded: a person has to answer first, or somebody moved a branch.
        EnvironmentProblem: the gate could not run, or the remote cannot be reached.
    """
    if await context.read_branch_tip() is None:
        return ()
    groups = pr_groups.group_shards(context.state, recipe) if recipe.merge.has_groups else ()
    alone, red = await _split_by_verdict(context, gate, groups)
    kept = tuple(group.name for group in red) if recipe.merge.mode == "pr-only" else ()
    if red and not kept:
        ready = await _join_red_groups(context, gate, alone, red)
    else:
        ready = alone
    if ready:
        await _open_some(context, recipe, ready, reason)
    elif not kept:
        landed = sum(file.landed is not None for file in context.state.migration.files.values())
        title = pr_groups.format_pr_title(recipe, "", landed)
        body = render_migration_body(context.state, recipe, reason)
        await propose_landed_work(context, title, body, recipe.merge.labels, draft=recipe.merge.draft)
    return kept


async def _split_by_verdict(
    context: RunContext, gate: Gate, groups: Sequence[pr_groups.PullRequestGroup]
) -> tuple[list[_Ready], list[pr_groups.PullRequestGroup]]:
    """Return the groups that are green on their own, and those that are not."""
    ready: list[_Ready] = []
    red: list[pr_groups.PullRequestGroup] = []
    for group in groups:
        if pr_groups.list_group_files(context.state, group) or group.name in context.state.migration.prs:
            found = await _commit_if_green(context, gate, group)
            ready += [found] if found else []
            red += [] if found else [group]
    return ready, red


async def _join_red_groups(
    context: RunContext, gate: Gate, ready: Sequence[_Ready], red: Sequence[pr_groups.PullRequestGroup]
) -> Sequence[_Ready]:
    """Return those that are ready, and the red ones as one; none if everything has to go together."""
    together = (
        await _commit_if_green(context, gate, pr_groups.merge_groups(red, context.state)) if len(red) > 1 else None
    )
    names = ", ".join(group.name for group in red)
    how = "they are opened as one" if together else "there is one pull request for everything"
    await context.journal.append(Noticed(level="info", text=f"not green on their own: {names}; {how}"))
    return [*ready, together] if together else []


async def _commit_if_green(context: RunContext, gate: Gate, group: pr_groups.PullRequestGroup) -> _Ready | None:
    """Return the group with its commits, if they pass the gate, at the second look if need be."""
    branch = pr_groups.get_group_branch(context.state, group)
    base = await pr_groups.find_group_tip(context, group)
    group_files = pr_groups.list_group_files(context.state, group)
    head = await pr_groups.commit_group(context, group)
    tree = TreeId(await read_tree_id(context.repository.git, head))
    for is_second_look in (False, True):
        result = await gate.judge_tree(head, tree, Purpose(f"pull request {group.name}"), fresh=is_second_look)
        if result.difference.is_green:
            old = await read_ref(context.repository.git, f"refs/heads/{branch}")
            if context.config.commits.squash:
                title = pr_groups.format_pr_title(context.recipe, group.name, len(group_files))
                head = await squash_commits(context, base, head, title)
            styled = await context.branch.style_union(base, ComposedUnion(commit=head, tree=tree))
            return _Ready(group, branch, CommitId(old) if old else None, styled.commit)
    return None


async def _open_some(context: RunContext, recipe: Recipe, ready: Sequence[_Ready], reason: str) -> None:
    """Open as many as may be open; every one that is open already is brought up to date."""
    chosen = await _choose_groups(context, recipe, ready)
    names = [one.group.name for one in ready if one not in chosen]
    waiting = [name for name in names if name not in context.state.migration.prs]
    if waiting:
        text = f"{len(waiting)} pull requests wait until others are merged: {', '.join(waiting[:_SHOWN])}"
        await context.journal.append(Noticed(level="info", text=f"{text}; open them now with migrate publish"))
    proposals = []
    for one in chosen:
        if await _move_branch(context, one):
            proposals.append(_build_proposal(context, recipe, one, reason))
    answered = await _ask_for_approval(context, proposals)
    for proposal in answered:
        await propose_pull_request(context, proposal)
    if len(answered) < len(proposals):
        raise build_waiting_error(context)


async def _ask_for_approval(
    context: RunContext, proposals: Sequence[PullRequestProposal]
) -> Sequence[PullRequestProposal]:
    """Put the questions all at once; return the proposals that no open question stands before."""
    if context.config.approval.mode != "pr":
        return proposals
    approvals = {proposal.group: build_pull_request_approval(context, proposal) for proposal in proposals}
    requests = []
    for approval in approvals.values():
        if approval.item not in context.state.approvals:
            requests.append(ApprovalRequested(approval=approval))
    await context.journal.append(*requests)
    known = context.state.approvals
    return [proposal for proposal in proposals if not known[approvals[proposal.group].item].is_open]


async def _choose_groups(context: RunContext, recipe: Recipe, ready: Sequence[_Ready]) -> list[_Ready]:
    state, remote = context.state, context.config.pr.push
    git, known = context.repository.git, state.migration.prs
    free = set(await list_openable_groups(git, state, recipe, remote, [one.group for one in ready]))
    chosen = []
    for one in ready:
        name = one.group.name
        is_stale = name in known and known[name].head != one.head
        is_wished = {name, ALL_GROUPS} & set(state.migration.requested_publications)
        if (
            name in free
            or is_stale
            or is_wished
            or (name in known and not await is_merged(git, state, remote, one.group))
        ):
            chosen.append(one)
    return chosen


async def list_openable_groups(
    git: Git, state: RunState, recipe: Recipe, remote: str, groups: Sequence[pr_groups.PullRequestGroup] | None = None
) -> tuple[str, ...]:
    """Return the groups without a pull request for which one may be opened, as far as others have been merged."""
    if groups is None:
        groups = pr_groups.group_shards(state, recipe)
    new, still_open = [], 0
    for group in groups:
        if group.name in state.migration.prs:
            still_open += not await is_merged(git, state, remote, group)
        elif pr_groups.list_group_files(state, group):
            new.append(group.name)
    most = recipe.merge.max_open_prs
    if most:
        new = new[: max(most - still_open, 0)]
    return tuple(new)


async def is_merged(git: Git, state: RunState, remote: str, group: pr_groups.PullRequestGroup) -> bool:
    """Return True if the target holds the group's commit, or each of its files as it is."""
    wanted = {(file.path, file.landed) for file in pr_groups.list_group_files(state, group)}
    for ref in (f"refs/heads/{state.run.target}", f"refs/remotes/{remote}/{state.run.target}"):
        target = await read_ref(git, ref) if state.run.target else None
        if target is None:
            continue
        if await is_ancestor(git, state.migration.prs[group.name].head, target):
            return True
        if wanted and wanted <= (await map_tree(git, target)).items():
            return True
    return False


async def _move_branch(context: RunContext, one: _Ready) -> bool:
    """Move the group's branch to its commits; return False if somebody has put it elsewhere, which a notice tells."""
    git = context.repository.git
    if one.old == one.head:
        return True
    if one.old and not await is_ancestor(git, one.old, one.head):
        text = f"the branch {one.branch} was moved by somebody and is left as it is; delete it to have it made anew"
        await context.journal.append(Noticed(level="warning", text=text))
        return False
    branch = PrBranch(context.repository, one.branch, context.state.run.base, context.landing_fence)
    setting = RefSetting(key=context.journal.build_next_key(f"ref/{branch.ref}"), ref=branch.ref, object=one.head)
    async with record_effect(context.journal, setting) as happening:
        await branch.move_to_commit(one.old, one.head, f"orchestrate: pull request {one.group.name}")
        happening.done = RefSet(key=setting.key)
    return True


def _build_proposal(context: RunContext, recipe: Recipe, one: _Ready, reason: str) -> PullRequestProposal:
    name, files = one.group.name, pr_groups.list_group_files(context.state, one.group)
    return PullRequestProposal(
        branch=one.branch,
        head=one.head,
        title=pr_groups.format_pr_title(recipe, name, len(files)),
        body=render_migration_body(context.state, recipe, reason, shards=one.group.shards),
        group=name,
        labels=recipe.merge.labels,
        draft=recipe.merge.draft,
    )

"""One commit for each pull request, where that is asked for: the tree that passed, on what people have seen."""

from orchestrator.domain.event.landing import LandingFinished, LandingStarted, RefSet, RefSetting
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.domain.run.state import RunState
from orchestrator.engine.commits import ORIGIN_TRAILERS, build_squash_message
from orchestrator.engine.context import RunContext
from orchestrator.ports.effect import record_effect
from orchestrator.ports.ledger import record_notice_once
from orchestrator.queue.composition import ComposedUnion
from worktrees.object_store.first_parent_line import read_first_parents
from worktrees.object_store.merge import commit_tree
from worktrees.ref_store.refs import set_ref


async def squash_landed_commits(context: RunContext, title: str) -> None:
    """Replace what landed since the pull request was last shown by one commit with the same tree.

    The commits that it stands for stay under a ref of the run's own. Where somebody else has committed on the branch
    nothing is replaced, and a notice says so.

    Raises:
        PersonNeeded: somebody has the branch checked out.
        worktrees.errors.CommitNotSigned: the key cannot be used.
    """
    tip = await context.read_branch_tip()
    if not context.config.commits.squash or tip is None:
        return
    base = _choose_base(context.state)
    listed = await _list_subjects(context, base, tip)
    if len(listed) < 2:
        return
    if tip != context.state.head or len(listed) != _count_own_commits(context.state, base):
        text = "the commits were not squashed: the branch holds some that this run did not make"
        await record_notice_once(context.journal, Noticed(level="warning", text=text))
        return
    await _keep_commits(context, tip)
    await _replace_commits(context, base, tip, await squash_commits(context, base, tip, title))


async def squash_commits(context: RunContext, base: CommitId, tip: CommitId, title: str) -> CommitId:
    """Return one commit on `base` with the tree of `tip`, which names those between; `tip` itself if it is alone.

    No ref is moved.
    """
    listed = await _list_subjects(context, base, tip)
    if len(listed) < 2:
        return tip
    origins = list[str]()
    if context.state.run.names_agents:
        origins = await _list_origins(context, base, tip)
    git, message = context.repository.git, build_squash_message(context.state, title, listed, origins)
    return CommitId(await commit_tree(git, await context.read_tree_id(tip), [base], message, context.commit_date))


async def _list_subjects(context: RunContext, base: CommitId, tip: CommitId) -> list[str]:
    span = f"{base}..{tip}"
    listed = await context.repository.git.run_text("log", "--reverse", "--first-parent", "--format=%s", span)
    return listed.splitlines()


async def _list_origins(context: RunContext, base: CommitId, tip: CommitId) -> list[str]:
    """Return the trailers that name the tasks and the agents of the commits between two, once each, oldest first."""
    line = await read_first_parents(context.repository.git, base, tip, ORIGIN_TRAILERS)
    origins = list[str]()
    for commit in line:
        for name, values in zip(ORIGIN_TRAILERS, commit.trailers, strict=True):
            origins += [f"{name}: {value}" for value in values]
    return list(dict.fromkeys(origins))


def _choose_base(state: RunState) -> CommitId:
    """Return the last commit that a pull request has shown: a branch that people have seen only goes forward."""
    if state.pr is not None and state.pr.head and not state.pr.group:
        return CommitId(state.pr.head)
    return state.run.base


def _count_own_commits(state: RunState, base: CommitId) -> int:
    """Return how many commits after `base` the run's landings have made."""
    count = 0
    for landing in state.landings:
        if landing.is_squash:
            count = 1
        else:
            count += len(landing.parts) or len(landing.units)
        if landing.new == base:
            count = 0
    return count


async def count_foreign_commits(context: RunContext, base: CommitId, tip: CommitId) -> int:
    """Return how many commits between two states of the branch the run did not make."""
    listed = await _list_subjects(context, base, tip)
    return max(0, len(listed) - _count_own_commits(context.state, base))


async def _keep_commits(context: RunContext, tip: CommitId) -> None:
    ref = context.refs.build_unsquashed_ref(tip)
    setting = RefSetting(key=context.journal.build_next_key(f"ref/{ref}"), ref=ref, object=tip)
    async with record_effect(context.journal, setting) as happening:
        await set_ref(context.repository.git, ref, tip)
        happening.done = RefSet(key=setting.key)


async def _replace_commits(context: RunContext, base: CommitId, tip: CommitId, made: CommitId) -> None:
    tree = await context.read_tree_id(tip)
    styled = await context.branch.style_union(base, ComposedUnion(commit=made, tree=tree))
    key = context.journal.build_next_key(f"land/{styled.commit}")
    moving = LandingStarted(key=key, branch=context.branch.name, old=tip, new=styled.commit, tree=tree, units=())
    async with record_effect(context.journal, moving) as happening:
        await context.branch.move_to_commit(tip, styled.commit, "orchestrate: squash")
        happening.done = LandingFinished(**moving.model_dump(include={"key", "branch", "new", "tree", "units"}))

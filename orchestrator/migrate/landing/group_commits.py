"""The commits of a group's branch: what its shards changed, on top of the base and of nothing else.

A branch that was shown to people only ever goes forward: what is taken back is one more commit.
"""

from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import Shard
from orchestrator.engine.context import RunContext
from orchestrator.migrate.landing.pr_groups import PullRequestGroup, get_group_branch, list_group_files
from worktrees.diffs.tree_changes import compare_trees
from worktrees.git import Git
from worktrees.object_store.merge import commit_tree, is_ancestor
from worktrees.object_store.packs import find_existing_objects
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import read_tree_id
from worktrees.ref_store.refs import read_ref

_Blobs = dict[str, tuple[str, str] | None]


class GroupCommits:
    """Makes them; the same state always gives the same ones."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._git: Git = context.repository.git

    async def commit_group(self, group: PullRequestGroup) -> CommitId:
        """Return the last commit of the group, on top of where its branch was last put, or of the base."""
        state = self._context.state
        tip = await self._find_tip(group)
        landed = {file.path: (file.mode, file.landed or file.base) for file in list_group_files(state, group)}
        for name in group.shards:
            shard = state.migration.shards[name]
            changes: _Blobs = {path: landed[path] for path in shard.files if path in landed}
            tip = await self._commit(tip, changes, await self._read_message(shard))
        back: _Blobs = {}
        for change in await compare_trees(self._git, state.run.base, tip):
            if change.path in state.migration.files and change.path not in landed:
                file = state.migration.files[change.path]
                back[change.path] = (file.mode, file.base)
        return await self._commit(tip, back, self._write_removal_message(group))

    async def _find_tip(self, group: PullRequestGroup) -> str:
        """Return where the run has put the group's branch, perhaps without having come to a pull request for it."""
        state = self._context.state
        known, ref = state.migration.prs.get(group.name), f"refs/heads/{get_group_branch(state, group)}"
        shown: str = state.run.base
        if known and await find_existing_objects(self._git, [known.head]):
            shown = known.head
        stands = await read_ref(self._git, ref)
        is_ours = stands in state.ref_history.get(ref, ())
        if stands and is_ours and await is_ancestor(self._git, shown, stands):
            return stands
        return shown

    async def _commit(self, tip: str, changes: _Blobs, message: str) -> CommitId:
        """Add a commit, unless it would change nothing; return the last one."""
        before = await read_tree_id(self._git, tip)
        after = await overlay_tree(self._git, before, changes)
        if after == before:
            return CommitId(tip)
        return CommitId(await commit_tree(self._git, after, [tip], message, self._context.commit_date))

    async def _read_message(self, shard: Shard) -> str:
        return await self._git.run_text("log", "-1", "--format=%B", shard.commit or "")

    def _write_removal_message(self, group: PullRequestGroup) -> str:
        run = self._context.state.run.run
        return f"Take back what no longer stands on the run's branch\n\nGroup: {group.name}\nOrchestrate-Run: {run}\n"

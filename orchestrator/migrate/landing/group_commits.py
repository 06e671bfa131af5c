"""The commits of a group's branch: what its shards changed, on top of the base and of nothing else.

A branch that was shown to people only ever goes forward: what is taken back is one more commit.
"""

from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import FileRecord, Shard
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
        """The last commit of the group, on top of where its branch was last put, or of the base."""
        state = self._context.state
        tip = await self._put(group)
        files = {}
        for file in list_group_files(state, group):
            files[file.path] = file
        for shard in (state.shards[name] for name in group.shards):
            changes: _Blobs = {path: _entry(files[path]) for path in shard.files if path in files}
            tip = await self._commit(tip, changes, await self._message(shard))
        changed = []
        for change in await compare_trees(self._git, state.run.base, tip):
            changed.append(change.path)
        back = []
        for path in changed:
            if path in state.files and path not in files:
                back.append(state.files[path])
        return await self._commit(tip, {file.path: (file.mode, file.base) for file in back}, self._taken_back(group))

    async def _put(self, group: PullRequestGroup) -> str:
        """Where the run has put the group's branch, perhaps without having come to a pull request for it."""
        state = self._context.state
        known, ref = state.prs.get(group.name), f"refs/heads/{get_group_branch(state, group)}"
        if known and await find_existing_objects(self._git, [known.head]):
            shown = known.head
        else:
            shown = state.run.base
        stands = await read_ref(self._git, ref)
        is_ours = stands in state.ref_history.get(ref, ())
        if stands and is_ours and await is_ancestor(self._git, shown, stands):
            return stands
        return shown

    async def _commit(self, tip: str, changes: _Blobs, message: str) -> CommitId:
        """One commit more, unless it would change nothing."""
        before = await read_tree_id(self._git, tip)
        after = await overlay_tree(self._git, before, changes)
        if after == before:
            return CommitId(tip)
        return CommitId(await commit_tree(self._git, after, [tip], message, self._context.commit_date))

    async def _message(self, shard: Shard) -> str:
        return await self._git.run_text("log", "-1", "--format=%B", shard.commit or "")

    def _taken_back(self, group: PullRequestGroup) -> str:
        run = self._context.state.run.run
        return f"Take back what no longer stands on the run's branch\n\nGroup: {group.name}\nOrchestrate-Run: {run}\n"


def _entry(file: FileRecord) -> tuple[str, str]:
    return file.mode, file.landed or file.base

"""Make files anew in which the work of two tasks conflicts, by the commands that the configuration names for them.

That is for files which a tool makes, such as lock files. Nothing else may be changed by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestrator.config.sections.merging import RegenerateSettings
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId, TaskId, TreeId, UnitId, parse_unit_task
from orchestrator.domain.paths.globs import matches_glob
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.engine.context import RunContext
from orchestrator.engine.snapshot_errors import find_snapshot_obstacle
from orchestrator.errors import EnvironmentProblem, ToolRefused
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.ports.hands import ShellCommand, Snapshot, Workspace
from worktrees.diffs.tree_changes import compare_trees
from worktrees.object_store.merge import MergeConflict, commit_tree
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import list_tree
from worktrees.safety.path_rules import escape_path

_TIMEOUT_S = 600.0
_OUTPUT_CHARS = 500


class _RegenerationFailed(Exception):
    """The files could not be made anew; the message says why."""


@dataclass(frozen=True)
class FileRegenerator:
    """Resolves conflicts in one round of the queue; implements `orchestrator.queue.composition.ConflictResolver`."""

    context: RunContext
    _results: dict[tuple[CommitId, str], TreeId | None] = field(default_factory=dict)

    async def resolve_conflict(self, tip: CommitId, unit: UnitId, conflict: MergeConflict) -> TreeId | None:
        """Return the tree with the files in conflict made anew; None if one of them is not named for that, or it fails.

        What was done, or why it failed, is a notice.

        Raises:
            EnvironmentProblem: no workspace or sandbox could be had.
        """
        settings = find_settings(self.context.config.merge.regenerate, conflict.paths)
        if not settings:
            return None
        key = (tip, conflict.tree)
        if key not in self._results:
            self._results[key] = await self._regenerate_files(tip, unit, conflict, settings)
        return self._results[key]

    async def _regenerate_files(
        self, tip: CommitId, unit: UnitId, conflict: MergeConflict, settings: Sequence[RegenerateSettings]
    ) -> TreeId | None:
        names = ", ".join(map(escape_path, conflict.paths))
        commands = "; ".join(one.command for one in settings)
        try:
            tree = await self._run_commands(tip, unit, conflict, settings)
        except (_RegenerationFailed, ToolRefused) as failure:
            text = f"{unit} conflicts with what landed in {names}, and `{commands}` did not make that anew: {failure}"
            await self.context.journal.append(Noticed(level="warning", text=text))
            return None
        text = f"{unit} conflicted with what landed in {names}, which `{commands}` made anew"
        await self.context.journal.append(Noticed(level="info", text=text))
        return tree

    async def _run_commands(
        self, tip: CommitId, unit: UnitId, conflict: MergeConflict, settings: Sequence[RegenerateSettings]
    ) -> TreeId:
        """Run the commands where everything else is merged, and the files are as they landed."""
        git, task = self.context.repository.git, parse_unit_task(unit)
        landed = {entry.path: (entry.mode, entry.oid) for entry in await list_tree(git, tip, conflict.paths)}
        begun = await overlay_tree(git, conflict.tree, {path: landed.get(path) for path in conflict.paths})
        message = f"{unit}: before its files are made anew"
        start = CommitId(await commit_tree(git, begun, [tip], message, self.context.commit_date))
        async with self.context.lend_workspace(start, Purpose(f"making files of {unit} anew")) as workspace:
            for one in settings:
                await self._run_command(workspace, one.command, task)
            made = await self._take_snapshot(workspace, unit)
        globs = [glob for one in settings for glob in one.files]
        for change in await compare_trees(git, begun, made.tree):
            if not any(matches_glob(glob, change.path) for glob in globs):
                raise _RegenerationFailed(f"it also changed {escape_path(change.path)}")
        return made.tree

    async def _take_snapshot(self, workspace: Workspace, unit: UnitId) -> Snapshot:
        ref = self.context.refs.build_anchor_ref(parse_unit_task(unit), "merged")
        try:
            return await workspace.take_snapshot(f"{unit}: its files are made anew", ref)
        except EnvironmentProblem as problem:
            reason = find_snapshot_obstacle(problem)
            if reason is None:
                raise
            raise _RegenerationFailed(reason) from problem

    async def _run_command(self, workspace: Workspace, line: str, task: TaskId) -> None:
        config = self.context.config
        tier = max(Tier.COMMANDS, config.hands.tiers.get(task, config.roles.worker.tier))
        output_bytes = config.hands.output_mb * 1024 * 1024
        command = ShellCommand(line=line, timeout_s=_TIMEOUT_S, output_bytes=output_bytes, tier=tier)
        result, output = await run_and_read(workspace, command)
        if result.exit_code != 0:
            end = self.context.journal.redact_text(output)[-_OUTPUT_CHARS:].strip()
            raise _RegenerationFailed(result.detail or end or f"it ended as {result.ending}")


def find_settings(settings: Sequence[RegenerateSettings], paths: Sequence[str]) -> tuple[RegenerateSettings, ...]:
    """Return the settings that together name all of these files, each that names one; none if a file has none."""
    found: list[RegenerateSettings] = []
    for path in paths:
        naming = [one for one in settings if any(matches_glob(glob, path) for glob in one.files)]
        if not naming:
            return ()
        found += naming
    return tuple(dict.fromkeys(found))

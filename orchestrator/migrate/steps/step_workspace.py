"""One workspace in which a step's command runs.

Every file is transformed from the same surroundings: the commit the step starts from, with nothing of the changes of
files that are not in the same call. So what becomes of a file depends on nothing but the step and the file. Files may
share a sandbox (`batch_script`) as long as that makes no difference: where a line is found to change anything beside
its file, nothing of the batch is believed, and from then on every file has a sandbox of its own.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from orchestrator.domain.ids import TreeId
from orchestrator.domain.purpose import Purpose
from orchestrator.engine.context import RunContext
from orchestrator.engine.snapshot_errors import find_snapshot_obstacle
from orchestrator.errors import EnvironmentProblem, ToolRefused
from orchestrator.hands.execution.workspace_runner import run_and_read, run_command
from orchestrator.migrate.steps import batch_script
from orchestrator.migrate.steps.step_io import MAX_FILE_BYTES, SIGKILL_EXIT, StepOutput, StepRun
from orchestrator.ports.hands import CommandEnding, CommandResult, ShellCommand, Snapshot, Workspace
from worktrees.diffs.file_diffs import diff_trees
from worktrees.safety.path_rules import escape_path

_PRINTED_BYTES = 64 * 1024
_KILLED = (124, SIGKILL_EXIT, 143)
"""What `timeout` and a shell may exit with for a command that was ended."""

_VERSION_S = 10.0
_MOST_LEFT = 1_000
"""More than this beside the tracked files is never only what is shared."""


@dataclass
class StepWorkspace:
    """A workspace at a step's start, whose files are those of `tree`."""

    context: RunContext
    run: StepRun
    workspace: Workspace
    batches: batch_script.BatchSizer
    tree: TreeId
    _mounted: frozenset[str] | None = None

    @classmethod
    @asynccontextmanager
    async def open_for_step(
        cls, context: RunContext, run: StepRun, batches: batch_script.BatchSizer
    ) -> "AsyncIterator[StepWorkspace]":
        """Open a workspace for the step."""
        async with context.lend_workspace(run.start, Purpose(f"step {run.step.id}")) as workspace:
            yield cls(context, run, workspace, batches, await context.read_tree_id(run.start))

    async def read_original(self, path: str) -> bytes:
        """Return what a file holds at the step's start."""
        return await self.workspace.read_file(path, MAX_FILE_BYTES)

    async def run_each(self, lines: Sequence[batch_script.FileCommand], timeout_s: float) -> list[StepOutput]:
        """Run every line on its own file alone, in batches where that makes no difference."""
        rest, outputs = list(lines), list[StepOutput]()
        while rest:
            count = batch_script.count_fitting(rest) if self.batches.is_allowed else 1
            outputs += await self._run_some(rest[:count], timeout_s)
            rest = rest[count:]
        return outputs

    async def _run_some(self, lines: Sequence[batch_script.FileCommand], timeout_s: float) -> list[StepOutput]:
        if len(lines) > 1 and (outputs := await self._run_batch(lines, timeout_s)) is not None:
            return outputs
        outputs = []
        for line in lines:
            outputs += await self.run_together(line.line, [line], timeout_s)
        return outputs

    async def run_together(
        self, line: str, files: Sequence[batch_script.FileCommand], timeout_s: float
    ) -> list[StepOutput]:
        """Run one line over these files at once; return what it made of each."""
        originals = {file.path: await self.read_original(file.path) for file in files}
        for file in files:
            if file.content is not None:
                await self.workspace.write_file(file.path, file.content)
        result, printed = await run_and_read(self.workspace, ShellCommand(line=line, timeout_s=timeout_s))
        outputs = []
        for file in files:
            outputs.append(await self._build_output(file.path, result, printed, len(files)))
        await self._restore_originals(originals)
        return outputs

    async def read_version(self, program: str) -> str:
        """Return what the program says of its version; whatever it says is as good as another answer."""
        command = ShellCommand(line=f"{program} --version", timeout_s=_VERSION_S)
        result, printed = await run_and_read(self.workspace, command)
        await self.restore_start()
        return f"{result.ending} {result.exit_code}\n{printed}"

    async def _build_output(self, path: str, result: CommandResult, printed: str, shared_by: int) -> StepOutput:
        content, refusal = None, ""
        try:
            content = await self.read_original(path)
        except ToolRefused as problem:
            refusal = str(problem)
        seconds = result.seconds / shared_by
        return StepOutput(result.ending, result.exit_code, seconds, printed, content, result.detail, refusal)

    async def _run_batch(self, lines: Sequence[batch_script.FileCommand], timeout_s: float) -> list[StepOutput] | None:
        """Return what each line did in one sandbox; None if that is not what it would have done in one of its own."""
        if not self.batches.is_allowed:
            return None
        result = await run_command(self.workspace, batch_script.build_batch_command(lines, timeout_s))
        results = batch_script.parse_batch_results(result.files, len(lines)) if result.is_success else None
        is_clean = await self._is_unchanged()
        if results is None or not is_clean:
            await self.restore_start()
            self.batches.disable_batches()
            return None
        outputs = []
        for line, done in zip(lines, results, strict=True):
            outputs.append(_build_batch_output(line, done, timeout_s))
        return outputs

    async def _is_unchanged(self) -> bool:
        """Return True if the workspace holds exactly the step's start, with nothing that git ignores beside it."""
        snapshot = await self._take_snapshot()
        if isinstance(snapshot, str) or snapshot.dropped or snapshot.tree != self.tree:
            return False
        untracked = await self._list_untracked()
        return not untracked or untracked <= await self._list_mount_points()

    async def _list_untracked(self) -> frozenset[str]:
        return frozenset(await self.workspace.list_paths_beside(self.tree, _MOST_LEFT))

    async def _list_mount_points(self) -> frozenset[str]:
        """Return what any command leaves beside the tracked files: the places where directories are shared with it."""
        if self._mounted is None:
            if found := await self._list_untracked():
                await self.restore_start()
                await run_command(self.workspace, ShellCommand(line="true"))
                found = await self._list_untracked()
            self._mounted = found
        return self._mounted

    async def _restore_originals(self, originals: Mapping[str, bytes]) -> None:
        """Undo everything the step did, so that its next call finds what this one found."""
        for path, content in originals.items():
            with suppress(ToolRefused):  # something else than a file stands there now
                await self.workspace.write_file(path, content)
        self.batches.strays |= await self._find_strays() - originals.keys() - self._list_divided_paths()
        await self.restore_start()

    def _list_divided_paths(self) -> frozenset[str]:
        """Return the files that a command over the whole tree may change beside those that the step is given."""
        return frozenset(self.context.state.migration.files) if self.run.step.takes_tree else frozenset()

    async def restore_start(self) -> None:
        """Make the workspace what it was at the step's start."""
        await self.workspace.restore_tree(self.tree, keeps_ignored=False)

    async def _find_strays(self) -> set[str]:
        """Return the paths that differ from the step's start."""
        snapshot = await self._take_snapshot()
        if isinstance(snapshot, str):
            return {f"more than can be listed ({snapshot})"}
        if snapshot.tree == self.tree:
            return set()
        difference = await diff_trees(self.context.repository.git, self.run.start, snapshot.commit)
        return set(map(escape_path, difference.paths))

    async def _take_snapshot(self) -> Snapshot | str:
        """Return the workspace as it is, or why it cannot be kept."""
        ref = self.context.refs.build_step_anchor_ref(self.run.step.id, self.workspace.name)
        try:
            return await self.workspace.take_snapshot(f"after step {self.run.step.id}", ref)
        except EnvironmentProblem as problem:
            if (reason := find_snapshot_obstacle(problem)) is None:
                raise
            return reason


def _build_batch_output(
    line: batch_script.FileCommand, result: batch_script.FileCommandResult, timeout_s: float
) -> StepOutput:
    printed = result.printed[-_PRINTED_BYTES:].decode("utf-8", "replace")
    refusal = ""
    if result.content is None:
        refusal = f"{line.path} does not exist or is no regular file."
    if result.exit_code in _KILLED and result.seconds >= timeout_s - 0.02:
        return StepOutput(CommandEnding.TIMED_OUT, None, result.seconds, printed, result.content, refusal=refusal)
    return StepOutput(CommandEnding.EXITED, result.exit_code, result.seconds, printed, result.content, refusal=refusal)

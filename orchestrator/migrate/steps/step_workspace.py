"""One workspace in which a step's command runs.

Every file is transformed from the same surroundings: the commit the step starts from, with nothing of the changes of
files that are not in the same call. So what becomes of a file depends on nothing but the step and the file. Files may
share a sandbox (`driver`) as long as that makes no difference: where a line is found to change anything beside its
file, nothing of the batch is believed, and from then on every file has a sandbox of its own.
"""

import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.run.purpose import Purpose
from orchestrator.engine.context import RunContext
from orchestrator.engine.snapshot_errors import find_snapshot_obstacle
from orchestrator.errors import EnvironmentProblem, ToolRefused
from orchestrator.hands.execution.log_reader import read_log_ends
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.migrate.recipe import Step
from orchestrator.migrate.steps.batch_script import (
    FileCommand,
    FileCommandResult,
    build_batch_command,
    count_fitting,
    parse_batch_results,
)
from orchestrator.migrate.steps.batch_size import BatchSizer
from orchestrator.migrate.steps.untracked_files import list_untracked_files
from orchestrator.ports.hands import CommandEnding, CommandResult, ShellCommand, Snapshot, Workspace
from worktrees.diffs.file_diffs import diff_trees
from worktrees.safety.path_rules import escape_path

MAX_FILE_BYTES = 64 * 1024 * 1024
_SAID_BYTES = 64 * 1024
_SIGKILL = 137
_KILLED = (124, _SIGKILL, 143)
"""What `timeout` and a shell may exit with for a command that was ended."""

_MOST_LEFT = 1_000
"""More than this beside the tracked files is never only what is shared."""


@dataclass(frozen=True)
class StepRun:
    """A step about to run: its place in the ladder, the commit it starts from, how many commands may run at a time."""

    step: Step
    rung: int
    start: CommitId
    slots: int


@dataclass(frozen=True)
class StepOutput:
    """What a command line made of one file, and how it ended: `said` is the end of what it printed.

    `content` is None where no readable regular file was left, which `refusal` says in words.
    """

    ending: CommandEnding
    exit_code: int | None
    seconds: float
    printed: str
    content: bytes | None
    detail: str = ""
    refusal: str = ""

    @property
    def is_interrupted(self) -> bool:
        """Whether it did not come to its own end, which may be for want of time or memory: another day it might."""
        return self.ending != CommandEnding.EXITED or self.exit_code == _SIGKILL


@dataclass
class StepWorkspace:
    """A workspace at a step's start. `tracked` are the paths of the commit it stands at."""

    context: RunContext
    run: StepRun
    workspace: Workspace
    batches: BatchSizer
    tracked: frozenset[str]
    tree: TreeId
    _mounted: frozenset[str] | None = None

    @classmethod
    @asynccontextmanager
    async def open_for_step(
        cls, context: RunContext, run: StepRun, batches: BatchSizer, tracked: frozenset[str]
    ) -> "AsyncIterator[StepWorkspace]":
        """Open a workspace for the step."""
        workspace = await context.hands.open_workspace(run.start, Purpose(f"step {run.step.id}"))
        try:
            yield cls(context, run, workspace, batches, tracked, await context.read_tree_id(run.start))
        finally:
            await workspace.close()

    async def read_original(self, path: str) -> bytes:
        """What a file holds at the step's start."""
        return await self.workspace.read_file(path, MAX_FILE_BYTES)

    async def run_each(self, lines: Sequence[FileCommand], timeout_s: float) -> list[StepOutput]:
        """Run every line on its own file alone, in batches where that makes no difference."""
        rest, ran = list(lines), list[StepOutput]()
        while rest:
            if self.batches.is_allowed:
                count = count_fitting(rest)
            else:
                count = 1
            ran += await self._some(rest[:count], timeout_s)
            rest = rest[count:]
        return ran

    async def _some(self, lines: Sequence[FileCommand], timeout_s: float) -> list[StepOutput]:
        done = await self._batched(lines, timeout_s) if len(lines) > 1 else None
        if done is not None:
            return done
        return [(await self.run_together(line.line, [line], timeout_s))[0] for line in lines]

    async def run_together(self, line: str, files: Sequence[FileCommand], timeout_s: float) -> list[StepOutput]:
        """Run one line over these files at once; what it made of each."""
        originals = {file.path: await self.read_original(file.path) for file in files}
        for file in files:
            if file.content is not None:
                await self.workspace.write_file(file.path, file.content)
        result = await run_command(self.workspace, ShellCommand(line=line, timeout_s=timeout_s))
        said = await to_thread.run_sync(read_log_ends, result.log)
        ran = [await self._ran(file.path, result, said, len(files)) for file in files]
        await self._put_back(originals)
        return ran

    async def _ran(self, path: str, result: CommandResult, said: str, shared_by: int) -> StepOutput:
        content, refusal = None, ""
        try:
            content = await self.read_original(path)
        except ToolRefused as problem:
            refusal = str(problem)
        seconds = result.seconds / shared_by
        return StepOutput(result.ending, result.exit_code, seconds, said, content, result.detail, refusal)

    async def _batched(self, lines: Sequence[FileCommand], timeout_s: float) -> list[StepOutput] | None:
        """What each line did in one sandbox; None if that is not what it would have done in one of its own."""
        if not self.batches.is_allowed:
            return None
        result = await run_command(self.workspace, build_batch_command(lines, timeout_s))
        done = parse_batch_results(result.files, len(lines)) if result.is_success else None
        is_clean = await self._is_as_it_was()
        if done is None or not is_clean:
            await self.restore_start()
            self.batches.disable_batches()
            return None
        return [_of_batch(line, one, timeout_s) for line, one in zip(lines, done, strict=True)]

    async def _is_as_it_was(self) -> bool:
        """Whether the workspace holds exactly the step's start, with nothing that git ignores beside it."""
        snapshot = await self._snapshot()
        if isinstance(snapshot, str) or snapshot.dropped or snapshot.tree != self.tree:
            return False
        beside = await self._beside_tracked()
        return not beside or beside <= await self._mount_points()

    async def _beside_tracked(self) -> frozenset[str]:
        return frozenset(await to_thread.run_sync(list_untracked_files, self.workspace.root, self.tracked, _MOST_LEFT))

    async def _mount_points(self) -> frozenset[str]:
        """What any command leaves beside the tracked files: the places where directories are shared with it."""
        if self._mounted is None:
            found = await self._beside_tracked()
            if found:
                await self.restore_start()
                await run_command(self.workspace, ShellCommand(line="true"))
                found = await self._beside_tracked()
            self._mounted = found
        return self._mounted

    async def _put_back(self, originals: Mapping[str, bytes]) -> None:
        """Undo everything the step did, so that its next call finds what this one found."""
        for path, content in originals.items():
            with suppress(ToolRefused):  # something else than a file stands there now
                await self.workspace.write_file(path, content)
        self.batches.strays |= await self._strays() - originals.keys()
        await self.restore_start()

    async def restore_start(self) -> None:
        """Make the workspace what it was at the step's start."""
        await self.workspace.restore_tree(self.tree, keeps_ignored=False)

    async def _strays(self) -> set[str]:
        """What differs from the step's start."""
        snapshot = await self._snapshot()
        if isinstance(snapshot, str):
            return {f"more than can be listed ({snapshot})"}
        if snapshot.tree == self.tree:
            return set()
        return set(
            map(escape_path, (await diff_trees(self.context.repository.git, self.run.start, snapshot.commit)).paths)
        )

    async def _snapshot(self) -> Snapshot | str:
        """The workspace as it is, or why it cannot be kept."""
        ref = self.context.build_ref("wip", f"step-{self.run.step.id}-{self.workspace.name}")
        try:
            return await self.workspace.take_snapshot(f"after step {self.run.step.id}", ref)
        except EnvironmentProblem as problem:
            reason = find_snapshot_obstacle(problem)
            if reason is None:
                raise
            return reason


def build_command_line(run: str, paths: Sequence[str]) -> str:
    """A step's line for these files."""
    return run.replace("{files}", " ".join(shlex.quote(escape_option_path(path)) for path in paths))


def escape_option_path(path: str) -> str:
    """The path in a form that no command takes for an option."""
    if path.startswith("-"):
        return f"./{path}"
    return path


def _of_batch(line: FileCommand, done: FileCommandResult, timeout_s: float) -> StepOutput:
    said = done.printed[-_SAID_BYTES:].decode("utf-8", "replace")
    if done.content is not None:
        refusal = ""
    else:
        refusal = f"{line.path} does not exist or is no regular file."
    if done.exit_code in _KILLED and done.seconds >= timeout_s - 0.02:
        return StepOutput(CommandEnding.TIMED_OUT, None, done.seconds, said, done.content, refusal=refusal)
    return StepOutput(CommandEnding.EXITED, done.exit_code, done.seconds, said, done.content, refusal=refusal)

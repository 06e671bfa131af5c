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
from orchestrator.engine.context import RunContext
from orchestrator.engine.unkeepable import unkeepable
from orchestrator.errors import EnvironmentProblem, ToolRefused
from orchestrator.hands.reading import read_ends
from orchestrator.hands.run import run_command
from orchestrator.migrate.recipe import Step
from orchestrator.migrate.steps.batch import Batches
from orchestrator.migrate.steps.driver import Done, Line, batch, fitting, told
from orchestrator.migrate.steps.leftovers import leftovers
from orchestrator.ports.hands import Command, CommandResult, Ending, Snapshot, Workspace
from worktrees.diff import diff
from worktrees.names import printable

FILE_BYTES = 64 * 1024 * 1024
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
class Ran:
    """What a command line made of one file, and how it ended: `said` is the end of what it printed.

    `content` is None where no readable regular file was left, which `refusal` says in words.
    """

    ending: Ending
    exit_code: int | None
    seconds: float
    said: str
    content: bytes | None
    detail: str = ""
    refusal: str = ""

    @property
    def was_ended(self) -> bool:
        """Whether it did not come to its own end, which may be for want of time or memory: another day it might."""
        return self.ending != Ending.EXITED or self.exit_code == _SIGKILL


@dataclass
class Bench:
    """A workspace at a step's start. `tracked` are the paths of the commit it stands at."""

    context: RunContext
    run: StepRun
    workspace: Workspace
    batches: Batches
    tracked: frozenset[str]
    tree: TreeId
    _mounted: frozenset[str] | None = None

    @classmethod
    @asynccontextmanager
    async def at(
        cls, context: RunContext, run: StepRun, batches: Batches, tracked: frozenset[str]
    ) -> "AsyncIterator[Bench]":
        """Open a workspace for the step."""
        workspace = await context.hands.open(run.start, f"step {run.step.id}")
        try:
            yield cls(context, run, workspace, batches, tracked, await context.tree(run.start))
        finally:
            await workspace.close()

    async def standing(self, path: str) -> bytes:
        """What a file holds at the step's start."""
        return await self.workspace.read(path, FILE_BYTES)

    async def each(self, lines: Sequence[Line], timeout_s: float) -> list[Ran]:
        """Run every line on its own file alone, in batches where that makes no difference."""
        rest, ran = list(lines), list[Ran]()
        while rest:
            count = fitting(rest) if self.batches.is_allowed else 1
            ran += await self._some(rest[:count], timeout_s)
            rest = rest[count:]
        return ran

    async def _some(self, lines: Sequence[Line], timeout_s: float) -> list[Ran]:
        done = await self._batched(lines, timeout_s) if len(lines) > 1 else None
        if done is not None:
            return done
        return [(await self.together(line.line, [line], timeout_s))[0] for line in lines]

    async def together(self, line: str, files: Sequence[Line], timeout_s: float) -> list[Ran]:
        """Run one line over these files at once; what it made of each."""
        originals = {file.path: await self.standing(file.path) for file in files}
        for file in files:
            if file.content is not None:
                await self.workspace.write(file.path, file.content)
        result = await run_command(self.workspace, Command(line=line, timeout_s=timeout_s))
        said = await to_thread.run_sync(read_ends, result.log)
        ran = [await self._ran(file.path, result, said, len(files)) for file in files]
        await self._put_back(originals)
        return ran

    async def _ran(self, path: str, result: CommandResult, said: str, shared_by: int) -> Ran:
        content, refusal = None, ""
        try:
            content = await self.standing(path)
        except ToolRefused as problem:
            refusal = str(problem)
        seconds = result.seconds / shared_by
        return Ran(result.ending, result.exit_code, seconds, said, content, result.detail, refusal)

    async def _batched(self, lines: Sequence[Line], timeout_s: float) -> list[Ran] | None:
        """What each line did in one sandbox; None if that is not what it would have done in one of its own."""
        if not self.batches.is_allowed:
            return None
        result = await run_command(self.workspace, batch(lines, timeout_s))
        done = told(result.files, len(lines)) if result.is_success else None
        is_clean = await self._is_as_it_was()
        if done is None or not is_clean:
            await self.reset()
            self.batches.give_up()
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
        return frozenset(await to_thread.run_sync(leftovers, self.workspace.root, self.tracked, _MOST_LEFT))

    async def _mount_points(self) -> frozenset[str]:
        """What any command leaves beside the tracked files: the places where directories are shared with it."""
        if self._mounted is None:
            found = await self._beside_tracked()
            if found:
                await self.reset()
                await run_command(self.workspace, Command(line="true"))
                found = await self._beside_tracked()
            self._mounted = found
        return self._mounted

    async def _put_back(self, originals: Mapping[str, bytes]) -> None:
        """Undo everything the step did, so that its next call finds what this one found."""
        for path, content in originals.items():
            with suppress(ToolRefused):  # something else than a file stands there now
                await self.workspace.write(path, content)
        self.batches.strays |= await self._strays() - originals.keys()
        await self.reset()

    async def reset(self) -> None:
        """Make the workspace what it was at the step's start."""
        await self.workspace.restore(self.tree, keeps_ignored=False)

    async def _strays(self) -> set[str]:
        """What differs from the step's start."""
        snapshot = await self._snapshot()
        if isinstance(snapshot, str):
            return {f"more than can be listed ({snapshot})"}
        if snapshot.tree == self.tree:
            return set()
        return set(map(printable, (await diff(self.context.repository.git, self.run.start, snapshot.commit)).paths))

    async def _snapshot(self) -> Snapshot | str:
        """The workspace as it is, or why it cannot be kept."""
        ref = self.context.ref("wip", f"step-{self.run.step.id}-{self.workspace.name}")
        try:
            return await self.workspace.snapshot(f"after step {self.run.step.id}", ref)
        except EnvironmentProblem as problem:
            reason = unkeepable(problem)
            if reason is None:
                raise
            return reason


def also_changed(step: Step) -> str:
    """How a notice begins that tells of files which a step changed beside its own."""
    return f"step {step.id} also changed"


def command_line(run: str, paths: Sequence[str]) -> str:
    """A step's line for these files."""
    return run.replace("{files}", " ".join(shlex.quote(no_option(path)) for path in paths))


def no_option(path: str) -> str:
    """The path in a form that no command takes for an option."""
    return f"./{path}" if path.startswith("-") else path


def _of_batch(line: Line, done: Done, timeout_s: float) -> Ran:
    said = done.said[-_SAID_BYTES:].decode("utf-8", "replace")
    refusal = "" if done.content is not None else f"{line.path} does not exist or is no regular file."
    if done.exit_code in _KILLED and done.seconds >= timeout_s - 0.02:
        return Ran(Ending.TIMED_OUT, None, done.seconds, said, done.content, refusal=refusal)
    return Ran(Ending.EXITED, done.exit_code, done.seconds, said, done.content, refusal=refusal)

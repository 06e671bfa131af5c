"""One workspace in which a step runs.

Every file is transformed from the same surroundings: the commit the step starts from, with nothing of the changes of
files that are not in the same call. So what becomes of a file depends on nothing but the step and the file.
"""

import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from anyio import to_thread

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration import FileRecord, FileStatus
from orchestrator.engine.context import RunContext
from orchestrator.engine.unkeepable import unkeepable
from orchestrator.errors import EnvironmentProblem, ToolRefused
from orchestrator.hands.reading import read_ends
from orchestrator.hands.run import run_command
from orchestrator.judge.signature import signature
from orchestrator.migrate.parsing import NODE_SUFFIXES, node_check, parse_error
from orchestrator.migrate.recipe import Step
from orchestrator.ports.hands import Command, CommandResult, Ending, Workspace
from worktrees.diff import diff
from worktrees.names import printable
from worktrees.trees import read_blob, write_blob

_FILE_BYTES = 64 * 1024 * 1024
_NOT_FOUND = 127
"""The exit code with which a shell says that it does not know a command."""


@dataclass(frozen=True)
class StepRun:
    """A step about to run: its place in the ladder, the commit it starts from, how many workspaces it may use."""

    step: Step
    rung: int
    start: CommitId
    slots: int


class Bench:
    """A workspace at the step's start, and the step."""

    def __init__(self, context: RunContext, run: StepRun, workspace: Workspace) -> None:
        self._context = context
        self._run = run
        self._workspace = workspace
        self._git = context.repository.git.at(work_tree=workspace.root)  # whose attributes say how files are stored
        self._beside: set[str] = set()

    @classmethod
    @asynccontextmanager
    async def at(cls, context: RunContext, run: StepRun) -> "AsyncIterator[Bench]":
        """Open a workspace for the step; on leaving, notice what the step changed outside its files."""
        workspace = await context.hands.open(run.start, f"step {run.step.id}")
        try:
            bench = cls(context, run, workspace)
            yield bench
            await bench._notice_strays()
        finally:
            await workspace.close()

    async def transform(self, files: Sequence[FileRecord]) -> list[FileMoved]:
        """Run the step's command once over these files; each file's new status."""
        originals = {file.path: await self._workspace.read(file.path, _FILE_BYTES) for file in files}
        for file in files:
            if file.blob not in (None, file.base):
                await self._workspace.write(file.path, await read_blob(self._git, file.blob, file.path))
        result = await run_command(self._workspace, self._command(files))
        failure = await self._failure(result)
        moved = [await self._moved(file, originals[file.path], failure, result.seconds) for file in files]
        await self._put_back(originals)
        return moved

    def _command(self, files: Sequence[FileRecord]) -> Command:
        names = " ".join(shlex.quote(_no_option(file.path)) for file in files)
        return Command(line=self._run.step.run.replace("{files}", names), timeout_s=self._run.step.timeout_s)

    async def _failure(self, result: CommandResult) -> tuple[str, str] | None:
        """Why the command as a whole failed and the signature of that, or None.

        Raises:
            EnvironmentProblem: it could not be run at all, which says nothing about the files.
        """
        step = self._run.step
        if result.ending == Ending.EXITED and result.exit_code in step.ok_exit:
            return None
        output = await to_thread.run_sync(read_ends, result.log)
        if result.ending == Ending.NOT_STARTED:
            raise EnvironmentProblem(f"step {step.id} could not be started: {result.detail}")
        if result.exit_code == _NOT_FOUND:
            raise EnvironmentProblem(
                f"step {step.id}: {_last_line(output)}. Install the tool, or bind the directory it lies in with "
                "--read-only DIR or read_only under [env] of the recipe"
            )
        why = result.detail.rstrip(".") or result.ending
        ended = f"exited {result.exit_code}" if result.exit_code is not None else f"was ended: {why}"
        said = _last_line(output)
        return f"step {step.id} {ended}{f': {said}' if said else ''}", signature(f"{ended}: {said}")

    async def _moved(
        self, file: FileRecord, original: bytes, failure: tuple[str, str] | None, seconds: float
    ) -> FileMoved:
        told = {"path": file.path, "rung": self._run.rung, "seconds": round(seconds, 3)}
        try:
            content = await self._workspace.read(file.path, _FILE_BYTES)
        except ToolRefused as refusal:
            reason = f"step {self._run.step.id} left no readable file: {refusal}"
            return FileMoved(**told, status=FileStatus.RESTORED, reason=reason, signature="the file is gone")
        blob = await write_blob(self._git, content, file.path)
        is_changed = blob != (file.blob or file.base)
        problem = failure or self._leak(original, content) or await self._parse_problem(file, original, content)
        if problem is not None:
            reason, sign = problem
            tried = blob if is_changed else None
            return FileMoved(**told, status=FileStatus.RESTORED, tried=tried, reason=reason, signature=sign)
        if not is_changed:
            return FileMoved(**told, status=file.status, blob=file.blob)
        return FileMoved(**told, status=FileStatus.TRANSFORMED, blob=blob)

    def _leak(self, before: bytes, after: bytes) -> tuple[str, str] | None:
        redactor = self._context.journal.redactor
        leaked = sorted({*redactor.holds(after)} - {*redactor.holds(before)})
        if not leaked:
            return None
        return f"holds the value of {', '.join(leaked)} after step {self._run.step.id}", "holds a secret"

    async def _parse_problem(self, file: FileRecord, before: bytes, after: bytes) -> tuple[str, str] | None:
        if not self._run.step.must_parse or before == after:
            return None
        if PurePosixPath(file.path).suffix in NODE_SUFFIXES:
            error = await self._node_error(file.path, before, after)
        else:
            error = await to_thread.run_sync(parse_error, file.path, before, after)
        if not error:
            return None
        return f"does not parse after step {self._run.step.id}: {error}", signature(f"does not parse: {error}")

    async def _node_error(self, path: str, before: bytes, after: bytes) -> str:
        """What node says of the new content, unless it says no to the old one as well."""
        told = await self._node_says(path)
        if not told:
            return ""
        await self._workspace.write(path, before)
        was_broken = bool(await self._node_says(path))
        await self._workspace.write(path, after)
        return "" if was_broken else told

    async def _node_says(self, path: str) -> str:
        result = await run_command(self._workspace, Command(line=node_check(shlex.quote(path)), timeout_s=60))
        if result.is_success:
            return ""
        lines = (await to_thread.run_sync(read_ends, result.log)).splitlines()
        return next((line for line in lines if "Error" in line), "node refuses it")

    async def _put_back(self, originals: Mapping[str, bytes]) -> None:
        """Undo everything the step did, so that its next call finds what this one found."""
        for path, content in originals.items():
            with suppress(ToolRefused):  # something else than a file stands there now
                await self._workspace.write(path, content)
        strays = await self._strays()
        if strays is not None:
            self._beside |= strays - originals.keys()
        await self._workspace.restore(await self._context.tree(self._run.start), keeps_ignored=False)

    async def _strays(self) -> set[str] | None:
        """What differs from the step's start; None if nothing does."""
        ref = self._context.ref("wip", f"step-{self._run.step.id}-{self._workspace.name}")
        try:
            snapshot = await self._workspace.snapshot(f"after step {self._run.step.id}", ref)
        except EnvironmentProblem as problem:
            reason = unkeepable(problem)
            if reason is None:
                raise
            return {f"more than can be listed ({reason})"}
        found = await diff(self._context.repository.git, self._run.start, snapshot.commit)
        return set(map(printable, found.paths)) if found.files else None

    async def _notice_strays(self) -> None:
        """Name what the step changed beside the files it was given; nothing of it is kept."""
        if self._beside:
            first, more = sorted(self._beside)[:8], len(self._beside) - 8
            shown = ", ".join(first) + (f" and {more} more" if more > 0 else "")
            text = f"step {self._run.step.id} also changed {shown}; that was left out"
            await self._context.journal.append(Noticed(level="warning", text=text))


def _no_option(path: str) -> str:
    """The path in a form that no command takes for an option."""
    return f"./{path}" if path.startswith("-") else path


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""

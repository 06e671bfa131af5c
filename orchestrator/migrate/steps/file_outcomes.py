"""What becomes of files after a step: their contents are looked at, stored, and told as events."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from anyio import to_thread

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.field_types import MISSING_TOOL
from orchestrator.engine.context import RunContext
from orchestrator.errors import EnvironmentProblem
from orchestrator.judge.reports.failure_signature import build_failure_signature
from orchestrator.migrate.recipe import Step
from orchestrator.migrate.steps.batch_script import FileCommand
from orchestrator.migrate.steps.parse_check import NODE_SUFFIXES, build_node_check, find_parse_error
from orchestrator.migrate.steps.step_workspace import StepOutput, StepRun, StepWorkspace
from orchestrator.ports.hands import CommandEnding
from worktrees.git import Git
from worktrees.object_store.clean_smudge import write_filtered_blobs

_NOT_FOUND = 127
"""The exit code with which a shell says that it does not know a command."""
_NODE_S = 60.0
Problem = tuple[str, str]
"""Why a file's new content cannot stand, in words, and the signature of that."""


@dataclass(frozen=True)
class StepInput:
    """A file as a step gets it: the blob it starts from, and the name of everything its result rests on."""

    file: FileRecord
    blob: str
    key: str = ""

    @property
    def path(self) -> str:
        """The file's path."""
        return self.file.path


@dataclass(frozen=True)
class StepResult:
    """What a step made of a file. `original` is the file at the step's start, `given` what the step was given of it."""

    step_input: StepInput
    original: bytes
    input_content: bytes
    output: StepOutput

    @property
    def content(self) -> bytes:
        """The new content; what was given where none is left."""
        if self.output.content is None:
            return self.input_content
        return self.output.content


@dataclass(frozen=True)
class OutcomeBuilder:
    """Tells what becomes of each file. `git` stores contents; `bench` is where node is asked, if it is."""

    context: RunContext
    run: StepRun
    git: Git
    step_workspace: StepWorkspace | None = None

    async def build_moves(self, made: Sequence[StepResult]) -> list[FileMoved]:
        """Every file's new status, in order.

        Raises:
            EnvironmentProblem: the step's command could not be run at all, which says nothing about the files.
        """
        blobs = await write_filtered_blobs(
            self.git, {one.step_input.path: one.content for one in made if one.output.content is not None}
        )
        problems = {}
        for one in made:
            problems[one.step_input.path] = self._failure(one.output) or self._leak(one)
        sound = []
        for one in made:
            if problems[one.step_input.path] is None and one.output.content is not None:
                sound.append(one)
        problems |= await self._unparsable(sound)
        return [self._event(one, blobs.get(one.step_input.path), problems[one.step_input.path]) for one in made]

    def _event(self, made: StepResult, blob: str | None, problem: Problem | None) -> FileMoved:
        of, step = made.step_input, self.run.step
        told = FileMoved(
            path=of.path,
            status=of.file.status,
            rung=self.run.rung,
            seconds=round(made.output.seconds, 3),
            cache_key="" if made.output.is_interrupted else of.key,
        )
        if blob is None and made.output.content is not None:
            reason = f"step {step.id} left what git cannot store: it is not of the encoding that .gitattributes says"
            return told.model_copy(update=_restored(reason, "not of the encoding that .gitattributes says"))
        if blob is None:
            reason = f"step {step.id} left no readable file: {made.output.refusal}"
            return told.model_copy(update=_restored(reason, "the file is gone"))
        if problem is not None:
            return told.model_copy(update=_restored(*problem) | {"tried": None if blob == of.blob else blob})
        if blob == of.blob:
            return told.model_copy(update={"blob": of.file.blob})
        return told.model_copy(update={"status": FileStatus.TRANSFORMED, "blob": blob})

    def _failure(self, ran: StepOutput) -> Problem | None:
        """Why the command as a whole failed, or None."""
        step = self.run.step
        if ran.ending == CommandEnding.EXITED and ran.exit_code in step.ok_exit:
            return None
        if ran.ending == CommandEnding.NOT_STARTED:
            raise EnvironmentProblem(f"step {step.id} could not be started: {ran.detail}")
        said = self._last_line(ran.printed)
        if ran.exit_code == _NOT_FOUND:
            raise EnvironmentProblem(f"step {step.id}: {said}. {MISSING_TOOL}")
        why = ran.detail.rstrip(".") or ran.ending
        if ran.exit_code is not None:
            ended = f"exited {ran.exit_code}"
        else:
            ended = f"was ended: {why}"
        return f"step {step.id} {ended}{f': {said}' if said else ''}", build_failure_signature(f"{ended}: {said}")

    def _last_line(self, text: str) -> str:
        lines = []
        for line in text.splitlines():
            if line.strip():
                lines.append(line.strip())
        if lines:
            return self.context.journal.redact_text(lines[-1])[:300]
        return ""

    def _leak(self, made: StepResult) -> Problem | None:
        redactor = self.context.journal.redactor
        leaked = sorted({*redactor.find_secrets(made.content)} - {*redactor.find_secrets(made.original)})
        if not leaked:
            return None
        return f"holds the value of {', '.join(leaked)} after step {self.run.step.id}", "holds a secret"

    async def _unparsable(self, made: Sequence[StepResult]) -> dict[str, Problem | None]:
        """Of the files that must parse: what keeps those from it that did before."""
        changed = [one for one in made if self.run.step.must_parse and one.content != one.original]
        asks_node = [one for one in changed if PurePosixPath(one.step_input.path).suffix in NODE_SUFFIXES]
        errors = await self._node_errors(asks_node) if self.step_workspace and asks_node else {}
        for one in changed:
            if one not in asks_node:
                errors[one.step_input.path] = await to_thread.run_sync(
                    find_parse_error, one.step_input.path, one.original, one.content
                )
        return {path: self._no_parse(error) for path, error in errors.items() if error}

    def _no_parse(self, error: str) -> Problem:
        return f"does not parse after step {self.run.step.id}: {error}", build_failure_signature(
            f"does not parse: {error}"
        )

    async def _node_errors(self, made: Sequence[StepResult]) -> dict[str, str]:
        """What node says of new contents, unless it says no to the old ones as well."""
        told = await self._node_says({one.step_input.path: one.content for one in made})
        before = {}
        for one in made:
            if one.step_input.path in told:
                before[one.step_input.path] = one.original
        was_broken = await self._node_says(before)
        return {path: error for path, error in told.items() if path not in was_broken}

    async def _node_says(self, contents: Mapping[str, bytes]) -> dict[str, str]:
        assert self.step_workspace
        lines = []
        for path, content in contents.items():
            lines.append(FileCommand(path, build_node_check(shlex.quote(path)), content))
        ran = await self.step_workspace.run_each(lines, _NODE_S)
        failed = []
        for line, one in zip(lines, ran, strict=True):
            if one.exit_code != 0:
                failed.append((line.path, one))
        return {path: _node_error(one.printed) for path, one in failed}


def needs_node(step: Step, paths: Sequence[str]) -> bool:
    """Whether node may have to be asked about any of the files."""
    return step.must_parse and any(PurePosixPath(path).suffix in NODE_SUFFIXES for path in paths)


def _node_error(said: str) -> str:
    return next((line for line in said.splitlines() if "Error" in line), "node refuses it")


def _restored(reason: str, sign: str) -> dict[str, object]:
    return {"status": FileStatus.RESTORED, "reason": reason, "signature": sign}

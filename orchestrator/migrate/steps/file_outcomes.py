"""Outcomes of files after a step: their contents are checked, stored, and recorded as events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from anyio import to_thread

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration.files import FailureKind, FileStatus
from orchestrator.engine.context import RunContext
from orchestrator.errors import EnvironmentProblem
from orchestrator.judge.reports.failure_signature import build_failure_signature
from orchestrator.judge.reports.telling_line import find_telling_line
from orchestrator.migrate.sites.command_search import MISSING_TOOL, NOT_FOUND_EXIT
from orchestrator.migrate.steps.parse_check import NODE_SUFFIXES, find_parse_error
from orchestrator.migrate.steps.step_io import StepOutput, StepResult, StepRun
from orchestrator.ports.hands import CommandEnding
from worktrees.git import Git
from worktrees.object_store.clean_smudge import write_filtered_blobs


class FileProblem(NamedTuple):
    """A reason against a file's new content: its kind, in words, and without what varies from file to file."""

    kind: FailureKind | None
    reason: str
    signature: str


@dataclass(frozen=True)
class OutcomeBuilder:
    """Builds the event of each file that a step worked on.

    Attributes:
        context: the run.
        run: the step.
        git: stores the new contents.
        node_errors: path to what node says of the new content, where it took the old one.
    """

    context: RunContext
    run: StepRun
    git: Git
    node_errors: Mapping[str, str]

    async def build_moves(self, results: Sequence[StepResult]) -> list[FileMoved]:
        """Return every file's new status, in order.

        Raises:
            EnvironmentProblem: the step's command could not be run at all, which says nothing about the files.
        """
        contents = {}
        for result in results:
            if result.output.content is not None:
                contents[result.path] = result.content
        blobs = await write_filtered_blobs(self.git, contents)
        moves = []
        for result in results:
            moves.append(self._build_move(result, blobs.get(result.path), await self._find_problem(result)))
        return moves

    def _build_move(self, result: StepResult, blob: str | None, problem: FileProblem | None) -> FileMoved:
        given, step = result.step_input, self.run.step
        move = FileMoved(
            path=given.path,
            status=given.file.status,
            rung=self.run.rung,
            seconds=round(result.output.seconds, 3),
            cache_key="" if result.output.is_interrupted else given.key,
        )
        if blob is None and result.output.content is not None:
            lost = "not of the encoding that .gitattributes says"
            reason = f"step {step.id} left what git cannot store: it is {lost}"
            return restore_file(move, FileProblem(FailureKind.CONTENT, reason, lost))
        if blob is None:
            reason = f"step {step.id} left no readable file: {result.output.refusal}"
            return restore_file(move, FileProblem(FailureKind.CONTENT, reason, "the file is gone"))
        if problem is not None:
            return restore_file(move, problem, tried=None if blob == given.blob else blob)
        if blob == given.blob:
            return move.model_copy(update={"blob": given.file.blob})
        return move.model_copy(update={"status": FileStatus.TRANSFORMED, "blob": blob})

    async def _find_problem(self, result: StepResult) -> FileProblem | None:
        problem = self._find_command_failure(result.output) or self._find_leak(result)
        if problem is not None or result.output.content is None:
            return problem
        if not (error := await self._find_parse_error(result)):
            return None
        reason = f"does not parse after step {self.run.step.id}: {error}"
        return FileProblem(FailureKind.PARSE, reason, build_failure_signature(f"does not parse: {error}"))

    def _find_command_failure(self, output: StepOutput) -> FileProblem | None:
        step = self.run.step
        if output.ending == CommandEnding.EXITED and step.accepts_exit(output.exit_code):
            return None
        if output.ending == CommandEnding.NOT_STARTED:
            raise EnvironmentProblem(f"step {step.id} could not be started: {output.detail}")
        line = self.context.journal.redact_text(find_telling_line(output.printed))
        if output.exit_code == NOT_FOUND_EXIT:
            raise EnvironmentProblem(f"step {step.id}: {line}. {MISSING_TOOL}")
        if output.exit_code is not None:
            ended = f"exited {output.exit_code}"
        else:
            ended = f"was ended: {output.detail.rstrip('.') or output.ending}"
        reason = f"step {step.id} {ended}"
        if line:
            reason += f": {line}"
        return FileProblem(FailureKind.COMMAND, reason, build_failure_signature(f"{ended}: {line}"))

    def _find_leak(self, result: StepResult) -> FileProblem | None:
        redactor = self.context.journal.redactor
        leaked = sorted({*redactor.find_secrets(result.content)} - {*redactor.find_secrets(result.original)})
        if not leaked:
            return None
        reason = f"holds the value of {', '.join(leaked)} after step {self.run.step.id}"
        return FileProblem(FailureKind.SECRET, reason, "holds a secret")

    async def _find_parse_error(self, result: StepResult) -> str:
        """Return what keeps the new content from parsing where the old one did; empty if nothing does."""
        if not self.run.step.must_parse or result.content == result.original:
            return ""
        if is_checked_by_node(result.path):
            return self.node_errors.get(result.path, "")
        return await to_thread.run_sync(find_parse_error, result.path, result.original, result.content)


def is_checked_by_node(path: str) -> bool:
    """Return True if node is asked whether the file parses."""
    return PurePosixPath(path).suffix in NODE_SUFFIXES


def restore_file(move: FileMoved, problem: FileProblem, tried: str | None = None) -> FileMoved:
    """Return the event with the file put back; `tried` is the content that did not stand."""
    failed = {"status": FileStatus.RESTORED, "blob": None, "tried": tried, "failure": problem.kind}
    return move.model_copy(update=failed | {"reason": problem.reason, "signature": problem.signature})

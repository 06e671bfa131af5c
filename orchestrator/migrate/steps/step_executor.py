"""Having a command or a built-in rewrite work on files, whatever that takes, and once more on its own results."""

import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.step import RewriteStep, TransformStep
from orchestrator.domain.text.command_lines import escape_option_path, fill_in_files
from orchestrator.engine.context import RunContext
from orchestrator.errors import EnvironmentProblem
from orchestrator.migrate.sites.ast_grep import build_rewrite_command
from orchestrator.migrate.sites.regex import replace_matches
from orchestrator.migrate.steps.batch_script import BatchSizer, FileCommand, can_batch, record_side_effects
from orchestrator.migrate.steps.file_outcomes import OutcomeBuilder, is_checked_by_node
from orchestrator.migrate.steps.parse_check import build_node_check, describe_node_error
from orchestrator.migrate.steps.step_io import StepInput, StepOutput, StepResult, StepRun
from orchestrator.migrate.steps.step_workspace import StepWorkspace
from orchestrator.ports.hands import CommandEnding
from worktrees.git import Git
from worktrees.object_store.attribute_files import lay_out_attributes
from worktrees.object_store.clean_smudge import read_filtered_blobs
from worktrees.object_store.trees import TreeEntry, list_tree, read_blobs

_MOST_BYTES = 120_000
"""Of a command line: the kernel takes 131,072 as one argument."""
_NODE_S = 60.0
_AT_ONCE = 32


def build_step_command(step: TransformStep, paths: Sequence[str]) -> str:
    """Return the command line that does a step's work on these files.

    Raises:
        EnvironmentProblem: the step is done by ast-grep, which is not installed.
    """
    if step.kind == "command":
        return fill_in_files(step.run, paths)
    return build_rewrite_command(step, list(map(escape_option_path, paths)), step.rule)


def choose_step_blob(step: TransformStep, file: FileRecord) -> str:
    """Return the blob that a step is given of a file.

    Of a file that failed that is, by `start`, the content that failed or the one on the base; by default the first if
    it was tests or a judge that said no, and the second if a step itself could not bring the file through.
    """
    if step.when != "failed" or not file.status.is_failed:
        return file.blob or file.base
    takes_tried = step.start == "tried" or (step.start == "auto" and file.status == FileStatus.EJECTED)
    return file.tried or file.blob or file.base if takes_tried else file.base


async def apply_regex_rewrite(git: Git, step: RewriteStep, files: Sequence[StepInput]) -> list[StepResult]:
    """Return what the step's regular expression makes of files."""
    oids = []
    for file in files:
        oids += [file.file.branch_blob, file.blob]
    contents = await read_blobs(git, oids)
    given = [contents[file.blob] for file in files]
    begun = perf_counter()
    rewritten = await replace_matches(step.pattern, step.rewrite or "", given, step.timeout_s)
    seconds = (perf_counter() - begun) / max(1, len(files))
    results = []
    for file, before, after in zip(files, given, rewritten, strict=True):
        output = _build_output(step, before, after, seconds)
        results.append(StepResult(file, contents[file.file.branch_blob], before, output))
    return results


def _build_output(step: RewriteStep, before: bytes, after: bytes | None, seconds: float) -> StepOutput:
    if after is not None:
        return StepOutput(CommandEnding.EXITED, 0, seconds, "", after)
    detail = f"its pattern took longer than {step.timeout_s:g} s, or made the file too large"
    return StepOutput(CommandEnding.TIMED_OUT, None, seconds, "", before, detail)


@asynccontextmanager
async def open_step_git(context: RunContext, run: StepRun, entries: Sequence[TreeEntry]) -> AsyncIterator[Git]:
    """Yield git that stores and reads contents as a step sees them: as checked out, or for a regex as they are.

    Args:
        context: the run.
        run: the step.
        entries: the files of the commit that it starts from, whose attributes count.
    """
    if run.step.runs_in_process:
        yield context.repository.git
        return
    async with lay_out_attributes(context.repository.git, entries) as git:
        yield git


@dataclass(frozen=True)
class StepExecutor:
    """Runs one step on files; `git` is as `open_step_git` yields it.

    `step_workspace` is None only for a step that needs no sandbox.
    """

    context: RunContext
    run: StepRun
    git: Git
    step_workspace: StepWorkspace | None

    async def execute_step(self, files: Sequence[StepInput]) -> list[FileMoved]:
        """Return what becomes of files: of each by itself, or of all at once if the step is per shard.

        Raises:
            EnvironmentProblem: the step's command could not be run at all, which says nothing about the files.
        """
        results = await self.compute_results(files)
        node_errors = await self._find_node_errors(results)
        return await OutcomeBuilder(self.context, self.run, self.git, node_errors).build_moves(results)

    async def compute_results(self, files: Sequence[StepInput]) -> list[StepResult]:
        """Return what the step makes of files; nothing is booked."""
        step, workspace = self.run.step, self.step_workspace
        if step.kind == "rewrite" and step.runs_in_process:
            return await apply_regex_rewrite(self.git, step, files)
        assert workspace
        originals, changed = [], {}
        for file in files:
            originals.append(await workspace.read_original(file.path))
            if file.blob != file.file.branch_blob:
                changed[file.path] = file.blob
        contents = await read_filtered_blobs(self.git, changed)
        lines = []
        for file in files:
            lines.append(FileCommand(file.path, build_step_command(step, [file.path]), contents.get(file.path)))
        if step.takes_together:
            outputs = await workspace.run_together(self._build_shard_command(files), lines, step.timeout_s)
        else:
            outputs = await workspace.run_each(lines, step.timeout_s)
        results = []
        for file, original, output in zip(files, originals, outputs, strict=True):
            results.append(StepResult(file, original, contents.get(file.path, original), output))
        return results

    async def find_changed_again(self, files: Sequence[StepInput]) -> frozenset[str]:
        """Return the paths whose content, as given, the step changes."""
        results = await self.compute_results(files)
        return frozenset(result.path for result in results if result.output.content != result.input_content)

    async def _find_node_errors(self, results: Sequence[StepResult]) -> Mapping[str, str]:
        """Return by path what node says of new contents, unless it refuses the old ones as well."""
        if not self.run.step.must_parse or self.step_workspace is None:
            return {}
        before, after = {}, {}
        for result in results:
            if is_checked_by_node(result.path) and result.output.content not in (None, result.original):
                before[result.path], after[result.path] = result.original, result.content
        errors = await self._check_by_node(self.step_workspace, after)
        originals = {path: before[path] for path in errors}
        for path in await self._check_by_node(self.step_workspace, originals):
            del errors[path]
        return errors

    async def _check_by_node(self, workspace: StepWorkspace, contents: Mapping[str, bytes]) -> dict[str, str]:
        """Return by path what node says of the contents that it does not parse."""
        lines = []
        for path, content in contents.items():
            lines.append(FileCommand(path, build_node_check(shlex.quote(path)), content))
        errors = {}
        for line, output in zip(lines, await workspace.run_each(lines, _NODE_S), strict=True):
            if output.exit_code != 0:
                errors[line.path] = describe_node_error(output.printed)
        return errors

    def _build_shard_command(self, files: Sequence[StepInput]) -> str:
        line = build_step_command(self.run.step, [file.path for file in files])
        if len(line.encode("utf-8", "surrogateescape")) > _MOST_BYTES:
            raise EnvironmentProblem(
                f"step {self.run.step.id} gets {len(files)} files at once, which do not fit on one command line: "
                'give it a smaller max_files under [shard], or per = "file"'
            )
        return line


async def find_non_idempotent_files(context: RunContext, run: StepRun, files: Sequence[FileRecord]) -> frozenset[str]:
    """Return the paths of those files whose present content (`file.blob`, or else the base's) the step changes.

    Raises:
        EnvironmentProblem: no workspace or sandbox could be had.
    """
    given = [StepInput(file, file.blob or file.base) for file in files]
    found: frozenset[str] = frozenset()
    entries = await list_tree(context.repository.git, run.start)
    batches = BatchSizer(1, can_batch(context, run.step))
    async with (
        open_step_git(context, run, entries) as git,
        StepWorkspace.open_for_step(context, run, batches) as workspace,
    ):
        executor = StepExecutor(context, run, git, workspace)
        for begin in range(0, len(given), _AT_ONCE):
            found |= await executor.find_changed_again(given[begin : begin + _AT_ONCE])
    await record_side_effects(context, run.step, batches)
    return found

"""Built-in rewrites, by regular expression or as a command of ast-grep; and which content a step is given of a file.

A regular expression works on contents as git stores them, so line ends and encodings that a checkout has do not matter.
"""

from collections.abc import Sequence
from time import perf_counter

from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.step import RewriteStep, TransformStep
from orchestrator.migrate.command_lines import escape_option_path, fill_in_files
from orchestrator.migrate.sites.ast_grep import build_rewrite_command
from orchestrator.migrate.sites.regex import replace_matches
from orchestrator.migrate.steps.step_io import StepInput, StepOutput, StepResult
from orchestrator.ports.hands import CommandEnding
from worktrees.git import Git
from worktrees.object_store.trees import read_blobs


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

"""Built-in rewrites, by regular expression or as a command of ast-grep; and which content a step is given of a file.

A regular expression works on contents as git stores them, so line ends and encodings that a checkout has do not matter.
"""

from collections.abc import Sequence
from time import perf_counter

from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.migrate.recipe import Step
from orchestrator.migrate.sites.ast_grep import build_rewrite_command
from orchestrator.migrate.sites.regex import replace_matches
from orchestrator.migrate.steps.file_outcomes import StepInput, StepResult
from orchestrator.migrate.steps.step_workspace import StepOutput, build_command_line, escape_option_path
from orchestrator.ports.hands import CommandEnding
from worktrees.git import Git
from worktrees.object_store.trees import read_blobs


def is_in_process(step: Step) -> bool:
    """Whether the step needs no sandbox."""
    return step.kind == "rewrite" and step.engine == "regex"


def build_step_command(step: Step, paths: Sequence[str]) -> str:
    """The command line that does a step's work on these files.

    Raises:
        EnvironmentProblem: the step is done by ast-grep, which is not installed.
    """
    if step.kind == "command":
        return build_command_line(step.run, paths)
    return build_rewrite_command(step, [escape_option_path(path) for path in paths], step.rule)


def choose_step_blob(step: Step, file: FileRecord) -> str:
    """The blob that a step is given of a file.

    Of a file that failed that is, by `start`, the content that failed or the one on the base; by default the first if
    it was tests or a judge that said no, and the second if a step itself could not bring the file through.
    """
    if step.when != "failed" or not file.status.is_failed:
        return file.blob or file.base
    failed = file.tried or file.blob or file.base
    if step.start == "auto":
        if file.status == FileStatus.EJECTED:
            return failed
        return file.base
    if step.start == "tried":
        return failed
    return file.base


async def apply_regex_rewrite(git: Git, step: Step, files: Sequence[StepInput]) -> list[StepResult]:
    """What the step's regular expression makes of files."""
    contents = await read_blobs(git, [oid for one in files for oid in (one.file.branch_blob, one.blob)])
    begun = perf_counter()
    made = await replace_matches(
        step.pattern, step.rewrite or "", [contents[one.blob] for one in files], step.timeout_s
    )
    seconds = (perf_counter() - begun) / max(1, len(files))
    return [
        StepResult(
            one, contents[one.file.branch_blob], contents[one.blob], _ran(step, content, contents[one.blob], seconds)
        )
        for one, content in zip(files, made, strict=True)
    ]


def _ran(step: Step, content: bytes | None, given: bytes, seconds: float) -> StepOutput:
    if content is not None:
        return StepOutput(CommandEnding.EXITED, 0, seconds, "", content)
    detail = f"its pattern took longer than {step.timeout_s:g} s, or made the file too large"
    return StepOutput(CommandEnding.TIMED_OUT, None, seconds, "", given, detail)

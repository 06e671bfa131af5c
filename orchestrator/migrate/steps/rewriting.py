"""Built-in rewrites, by regular expression or as a command of ast-grep; and which content a step is given of a file.

A regular expression works on contents as git stores them, so line ends and encodings that a checkout has do not matter.
"""

import re
from collections.abc import Mapping, Sequence
from time import perf_counter

from anyio import to_thread

from orchestrator.domain.migration import FileRecord, FileStatus
from orchestrator.migrate.recipe import Step
from orchestrator.migrate.scope.ast_grep import rewrite_line
from orchestrator.migrate.steps.bench import Ran, command_line, no_option
from orchestrator.migrate.steps.outcome import Given, Made
from orchestrator.ports.hands import Ending
from worktrees.git import Git
from worktrees.trees import read_blobs


def is_in_process(step: Step) -> bool:
    """Whether the step needs no sandbox."""
    return step.kind == "rewrite" and step.engine == "regex"


def line_of(step: Step, paths: Sequence[str]) -> str:
    """The command line that does a step's work on these files.

    Raises:
        EnvironmentProblem: the step is done by ast-grep, which is not installed.
    """
    if step.kind == "command":
        return command_line(step.run, paths)
    return rewrite_line(step, [no_option(path) for path in paths], step.rule)


def start_of(step: Step, file: FileRecord) -> str:
    """The blob that a step is given of a file.

    Of a file that failed that is, by `start`, the content that failed or the one on the base; by default the first if
    it was tests or a judge that said no, and the second if a step itself could not bring the file through.
    """
    if step.when != "failed" or not file.status.is_failed:
        return file.blob or file.base
    failed = file.tried or file.blob or file.base
    if step.start == "auto":
        return failed if file.status == FileStatus.EJECTED else file.base
    return failed if step.start == "tried" else file.base


def substituted(step: Step, content: bytes) -> bytes:
    r"""The content with every match of the step's pattern replaced; `\1` and `\g<name>` stand for groups."""
    text = content.decode("utf-8", "surrogateescape")
    return re.sub(step.pattern, step.rewrite or "", text, flags=re.MULTILINE).encode("utf-8", "surrogateescape")


async def rewritten(git: Git, step: Step, files: Sequence[Given]) -> list[Made]:
    """What the step's regular expression makes of files."""
    contents = await read_blobs(git, [oid for one in files for oid in (one.file.stands, one.blob)])
    return await to_thread.run_sync(_all, step, files, contents)


def _all(step: Step, files: Sequence[Given], contents: Mapping[str, bytes]) -> list[Made]:
    return [_one(step, one, contents[one.file.stands], contents[one.blob]) for one in files]


def _one(step: Step, of: Given, original: bytes, given: bytes) -> Made:
    begun = perf_counter()
    content = substituted(step, given)
    return Made(of, original, given, Ran(Ending.EXITED, 0, perf_counter() - begun, "", content))

"""Inputs and outputs of steps: plain data that every module of this room passes on."""

from dataclasses import dataclass

from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.recipe.step import TransformStep
from orchestrator.ports.hands import CommandEnding

MAX_FILE_BYTES = 64 * 1024 * 1024
SIGKILL_EXIT = 137
"""The exit code of a command that was ended by SIGKILL."""


@dataclass(frozen=True)
class StepRun:
    """A step about to run: its place in the ladder, the commit it starts from, how many commands may run at a time."""

    step: TransformStep
    rung: int
    start: CommitId
    slots: int


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
class StepOutput:
    """The end of a command line on one file: how it ended, the last of what it printed, and the new content.

    `content` is None where no readable regular file was left, for the reason in `refusal`.
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
        """True if it did not come to its own end, for want of time or memory: another day it might."""
        return self.ending != CommandEnding.EXITED or self.exit_code == SIGKILL_EXIT


@dataclass(frozen=True)
class StepResult:
    """The output of a step for one file.

    `original` is the file at the step's start, `input_content` what it was given.
    """

    step_input: StepInput
    original: bytes
    input_content: bytes
    output: StepOutput

    @property
    def path(self) -> str:
        """The file's path."""
        return self.step_input.path

    @property
    def content(self) -> bytes:
        """The new content; what was given where none is left."""
        return self.input_content if self.output.content is None else self.output.content


@dataclass
class StepTally:
    """Counts of what became of the files that one step took.

    `restored` were put back by the step's own harness, `refused` afterwards, because a rule did not hold. `cached` are
    results of earlier runs.
    """

    files: int = 0
    changed: int = 0
    unchanged: int = 0
    restored: int = 0
    refused: int = 0
    cached: int = 0
    seconds: float = 0.0

"""Events of a migration: files found, steps run, files moved along the ladder."""

from typing import Literal

from orchestrator.domain.base import Frozen
from orchestrator.domain.event.base import Done, Event, Intent
from orchestrator.domain.migration import FileStatus


class FoundFile(Frozen):
    """A file in scope: its git blob and mode on the base tree, and the sites counted in it."""

    path: str
    blob: str
    mode: str
    sites: int = 0


class FilesFound(Event):
    """The inventory. Files without a site have nothing to do when the recipe counts sites."""

    kind: Literal["files.found"] = "files.found"
    v: Literal[1] = 1
    files: tuple[FoundFile, ...]


class StepStarted(Intent):
    """A step of the ladder is about to run over `files` files."""

    kind: Literal["step.started"] = "step.started"
    v: Literal[1] = 1
    step: str
    rung: int
    files: int


class StepFinished(Done):
    """A step of the ladder has been tried on all its files."""

    kind: Literal["step.finished"] = "step.finished"
    v: Literal[1] = 1
    step: str
    changed: int
    unchanged: int
    restored: int
    seconds: float


class FileMoved(Event):
    """One file's new status. `rung` is the index of the step that caused it, `blob` the file's content after it.

    `tried` is a content that the step made and that was put back.
    """

    kind: Literal["file.moved"] = "file.moved"
    v: Literal[1] = 1
    path: str
    status: FileStatus
    rung: int
    blob: str | None = None
    tried: str | None = None
    reason: str = ""
    signature: str = ""
    seconds: float = 0.0

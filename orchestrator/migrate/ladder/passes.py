"""The ladder as pure rules: the steps that belong together, and the files that a step takes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.step import Step

NOTHING_CHANGED = "it has sites, and no step changed it"
"""The reason of a file that is left over although nothing failed on it."""


@dataclass(frozen=True)
class Pass:
    """Steps, by their places in the ladder, that run one after the other before the queue does.

    `attempt` is which try of its model steps it is; the first one is 1.
    """

    rungs: tuple[int, ...]
    attempt: int = 1

    def is_behind(self, file: FileRecord) -> bool:
        """Return True if a file has come further than this pass: what stands of it lands with a later one."""
        return file.rung > max(self.rungs) or (file.rung in self.rungs and file.attempt > self.attempt)


def list_passes(recipe: Recipe) -> list[Pass]:
    """Return the ladder as passes.

    A step for failed files, and a person, begins a pass of its own. A step that asks a model has another one for each
    further attempt, so that what failed in the queue comes back with the evidence.
    """
    passes: list[Pass] = []
    for rungs in _group_rungs(recipe):
        passes.append(Pass(rungs))
        for rung in rungs:
            step = recipe.step[rung]
            if step.kind == "llm":
                passes += (Pass((rung,), attempt) for attempt in range(2, step.attempts + 1))
    return passes


def _group_rungs(recipe: Recipe) -> list[tuple[int, ...]]:
    groups: list[tuple[int, ...]] = []
    for index, step in enumerate(recipe.step):
        is_apart = step.when == "failed" or step.kind == "human"
        if is_apart or not groups or recipe.step[groups[-1][-1]].when == "failed":
            groups.append(())
        groups[-1] = (*groups[-1], index)
    return groups


def can_take_file(
    step: Step, index: int, file: FileRecord, sites_now: int, counts_sites: bool, attempt: int = 1
) -> bool:
    """Return True if a step takes a file.

    Args:
        step: the step.
        index: its place in the ladder; a file takes each rung once, and one that asks a model once an attempt.
        file: the file as it stands.
        sites_now: its sites at present.
        counts_sites: whether the recipe counts sites at all.
        attempt: which try of the step it is.
    """
    if file.status.is_terminal:
        return False
    if attempt > 1:
        return file.rung == index and file.attempt < attempt and file.status.is_failed
    if file.rung >= index or (file.status.is_failed and not is_remedy_for(step, file)):
        return False
    if step.when == "failed" or file.status.is_failed:
        return file.status.is_failed and (step.when == "failed" or step.kind == "human")
    if step.kind == "human":
        return find_final_status(file) == FileStatus.UNCHANGED
    return is_wanted_by_sites(step, file, counts_sites, sites_now)


def is_wanted_by_sites(step: Step, file: FileRecord, counts_sites: bool, sites_now: int) -> bool:
    """Return True if a step takes a file with so many sites now, as far as it is about sites."""
    if step.when == "always" or not counts_sites:
        return True
    if step.when == "sites-left":
        return sites_now > 0
    return file.sites > 0


def is_remedy_for(step: Step, file: FileRecord) -> bool:
    """Return True if a step for failed files is for what this one failed of."""
    return not step.on_signature or any(re.search(step.on_signature, text) for text in (file.signature, file.reason))


def build_end_moves(files: Iterable[FileRecord], status: FileStatus, reason: str) -> list[FileMoved]:
    """Return the moves of files to an end that has nothing to do with their contents."""
    return [FileMoved(path=file.path, status=status, rung=file.rung, reason=reason) for file in files]


def list_files_to_queue(files: Iterable[FileRecord]) -> list[FileRecord]:
    """Return the files whose changes wait for the queue, in landing order."""
    return sorted(filter(is_changed, files), key=lambda file: file.path)


def is_changed(file: FileRecord) -> bool:
    """Return True if a file has a new content that has not landed."""
    return file.status == FileStatus.TRANSFORMED and file.blob not in (None, file.branch_blob)


def is_already_landed(file: FileRecord) -> bool:
    """Return True if a file that had landed climbed again, and what was made of it is what stands already."""
    return file.status == FileStatus.TRANSFORMED and file.blob is not None and file.blob == file.landed


def find_final_status(file: FileRecord) -> FileStatus | None:
    """Return what becomes of a file that still stands on the ladder when it has ended.

    None if it has its end already.
    """
    match file.status:
        case FileStatus.EJECTED:
            return FileStatus.REJECTED
        case FileStatus.RESTORED:
            return FileStatus.REJECTED if file.tried else FileStatus.UNCHANGED
        case FileStatus.DISCOVERED | FileStatus.TRANSFORMED:
            return FileStatus.UNCHANGED if file.sites else FileStatus.NOTHING_TO_DO
    return None

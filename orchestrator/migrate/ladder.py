"""The ladder as pure rules: which steps belong together, and which files a step takes."""

from collections.abc import Iterable

from orchestrator.domain.migration import FileRecord, FileStatus
from orchestrator.migrate.recipe import Recipe, Step

_FAILED = {FileStatus.EJECTED, FileStatus.RESTORED}


def passes(recipe: Recipe) -> list[list[int]]:
    """Indices of steps, grouped: the queue runs after each group. A step for failed files begins a group of its own."""
    groups: list[list[int]] = []
    for index, step in enumerate(recipe.step):
        if step.when == "failed" or not groups or recipe.step[groups[-1][-1]].when == "failed":
            groups.append([])
        groups[-1].append(index)
    return groups


def takes(step: Step, index: int, file: FileRecord, sites_now: int, counts_sites: bool) -> bool:
    """Whether a step takes a file.

    Args:
        step: the step.
        index: its place in the ladder; a file takes each rung once.
        file: the file as it stands.
        sites_now: its sites at present.
        counts_sites: whether the recipe counts sites at all.
    """
    if file.status.is_terminal or file.rung >= index:
        return False
    if step.when == "failed":
        return file.status in _FAILED
    if file.status in _FAILED:
        return False
    if step.when == "always" or not counts_sites:
        return True
    return sites_now > 0 if step.when == "sites-left" else file.sites > 0


def to_queue(files: Iterable[FileRecord]) -> list[FileRecord]:
    """The files whose changes wait for the queue, in landing order."""
    return sorted((file for file in files if is_changed(file)), key=lambda file: file.path)


def is_changed(file: FileRecord) -> bool:
    """Whether a file has a new content that has not landed."""
    return file.status == FileStatus.TRANSFORMED and file.blob not in (None, file.stands)


def leftover(file: FileRecord) -> FileStatus | None:
    """What becomes of a file that still stands on the ladder when it has ended; None if it has its end already."""
    match file.status:
        case FileStatus.EJECTED:
            return FileStatus.REJECTED
        case FileStatus.RESTORED:
            return FileStatus.REJECTED if file.tried else FileStatus.UNCHANGED
        case FileStatus.DISCOVERED | FileStatus.TRANSFORMED:
            return FileStatus.UNCHANGED if file.sites else FileStatus.NOTHING_TO_DO
    return None

"""Find and build one file or one shard of a migration: its sites, what was tried on it, where it landed."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import ClassVar

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.report.migration.file_groups import get_step_name, list_step_names
from orchestrator.report.migration.file_model import FileDetails, FileMove, FileSite, ShardDetails, ShardFile


class FileMoveLog:
    """Collects from a journal what became of one file at each try."""

    KINDS: ClassVar = ("file.moved",)

    def __init__(self, path: str) -> None:
        self._path = path
        self.moves: list[FileMoved] = []

    def record_events(self, events: Iterable[RecordedEvent]) -> None:
        """Take in events, of which only those of `KINDS` matter."""
        for recorded in events:
            if isinstance(recorded.event, FileMoved) and recorded.event.path == self._path:
                self.moves.append(recorded.event)


def find_file_or_shard(state: RunState, name: str) -> FileRecord | Shard:
    """Return the file of this path, or the shard of this name.

    Raises:
        UsageProblem: the migration has neither.
    """
    known = state.migration.files.get(name) or state.migration.shards.get(name)
    if known is not None:
        return known
    hint = f"it has {len(state.migration.files)} files in scope"
    similar = get_close_matches(name, [*state.migration.files, *state.migration.shards], n=3)
    if similar:
        hint = f"did you mean {', '.join(similar)}?"
    raise UsageProblem(f"migration {state.run.run} has no file and no shard {name!r}: {hint}")


def build_file_details(state: RunState, file: FileRecord, log: FileMoveLog) -> FileDetails:
    """Return a file with its sites, and all its tries in order."""
    steps = list_step_names(state)
    shard = state.migration.find_shard_of_file(file.path)
    shard_name = commit = None
    if shard is not None:
        shard_name = shard.name
        if file.status == FileStatus.MERGED:
            commit = shard.commit
    return FileDetails(
        **{**dict(file), "sites": tuple(_iterate_sites(file)), "seconds": round(file.seconds, 3)},
        run=state.run.run,
        shard=shard_name,
        commit=commit,
        found=file.sites,
        remaining=file.remaining_sites,
        step=get_step_name(steps, file.rung),
        moves=tuple(_build_move(move, steps) for move in log.moves),
    )


def _iterate_sites(file: FileRecord) -> Iterator[FileSite]:
    is_done = _are_sites_done(file)
    for place in file.places:
        yield FileSite(id=place.site, line=place.line, column=place.column, is_done=is_done)


def _are_sites_done(file: FileRecord) -> bool | None:
    """Return None where some of the file's sites remain, and which is unknown."""
    if file.remaining_sites == 0:
        return True
    if file.remaining_sites >= file.sites:
        return False
    return None


def _build_move(move: FileMoved, steps: list[str]) -> FileMove:
    return FileMove(**{**dict(move), "seconds": round(move.seconds, 3)}, step=get_step_name(steps, move.rung))


def build_shard_details(state: RunState, shard: Shard) -> ShardDetails:
    """Return a shard with its files."""
    files = tuple(ShardFile(**dict(state.migration.files[path])) for path in shard.files)
    status = state.migration.get_shard_status(shard)
    return ShardDetails(**{**dict(shard), "files": files}, run=state.run.run, status=status)

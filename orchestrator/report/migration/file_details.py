"""Find, build and render one file or one shard of a migration: its sites, what was tried on it, where it landed."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard, ShardStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import add_lead, format_count
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.domain.text.suggestions import suggest_names
from orchestrator.errors import UsageProblem
from orchestrator.report.migration.file_groups import get_step_name, list_step_names
from orchestrator.report.read_model import Document, ReadModel
from orchestrator.report.run.summary import format_reason


class FileSite(ReadModel):
    """A site of a file; `is_done` is None where some of the file's sites remain, and which is unknown."""

    id: str
    line: int
    column: int
    is_done: bool | None


class FileMove(ReadModel):
    """A try of a step on a file, or its landing; `attempt` is 0 where the step has only one."""

    step: str | None
    attempt: int
    status: FileStatus
    reason: str
    signature: str
    seconds: float
    is_cached: bool


class FileDetails(Document, schema="orchestrate.migration-file/1"):
    """A file with all its sites and tries; `commit` is the one of its shard, if the file landed in it."""

    run: str
    path: str
    status: FileStatus
    owner: str
    shard: str | None
    commit: str | None
    sites: tuple[FileSite, ...]
    found: int
    remaining: int
    step: str | None
    attempt: int
    reason: str
    signature: str
    flags: tuple[str, ...]
    seconds: float
    moves: tuple[FileMove, ...]


class ShardFile(ReadModel):
    """A file of a shard."""

    path: str
    status: FileStatus
    reason: str


class ShardDetails(Document, schema="orchestrate.migration-shard/1"):
    """A shard with its files; `held` is the reason why a person holds it back, or empty."""

    run: str
    name: str
    status: ShardStatus
    owner: str
    held: str
    commit: str | None
    files: tuple[ShardFile, ...]


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
    names = [*state.migration.files, *state.migration.shards]
    hint = suggest_names(name, names, f"it has {len(state.migration.files)} files in scope")
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


_SITE_WORDS = {True: "done", False: "left", None: "done or left"}


def render_file_details(file: FileDetails) -> Iterator[str]:
    """Yield all of a file."""
    yield from render_file_location(file)
    yield from render_site_lines(file)
    yield from render_file_history(file)


def render_file_location(file: FileDetails) -> Iterator[str]:
    """Yield a file's name and status, and the shard that it belongs to."""
    yield f"{to_one_line(file.path)}  {file.status.word}"
    yield f"  shard {to_one_line(file.shard or '-')}{_format_landing(file.owner, file.commit)}"


def _format_landing(owner: str, commit: str | None) -> str:
    return add_lead("  owner ", to_one_line(owner)) + add_lead("  commit ", (commit or "")[:12])


def render_site_lines(file: FileDetails) -> Iterator[str]:
    """Yield how many sites a file has, and where each is."""
    yield f"  {format_count(file.found, 'site')}, {file.remaining:,} left"
    path = to_one_line(file.path)
    for site in file.sites:
        yield f"    {path}:{site.line}:{site.column}  {site.id}  {_SITE_WORDS[site.is_done]}"


def render_file_history(file: FileDetails) -> Iterator[str]:
    """Yield what became of a file at each try, and why it stands where it does."""
    for move in file.moves:
        yield _format_move(move)
    for flag in file.flags:
        yield f"  flagged: {to_one_line(flag)}"
    if file.reason:
        yield f"  reason: {format_reason(file.reason)}"
    if file.signature:
        yield f"  signature: {format_reason(file.signature)}"


def _format_move(move: FileMove) -> str:
    words = f"  {move.step or '-'}"
    if move.attempt:
        words += f", try {move.attempt}"
    if move.is_cached:
        words += ", known from an earlier run"
    words += f": {move.status}"
    if move.seconds:
        words += f" ({move.seconds:.1f} s)"
    return words + _format_suffix(move.reason)


def _format_suffix(reason: str) -> str:
    return add_lead(": ", format_reason(reason))


def render_shard_details(shard: ShardDetails) -> Iterator[str]:
    """Yield all of a shard."""
    yield f"shard {to_one_line(shard.name)}  {shard.status}{_format_landing(shard.owner, shard.commit)}"
    if shard.held:
        yield f"  held: {format_reason(shard.held)}"
    for file in shard.files:
        yield f"  {file.status.word:16} {to_one_line(file.path)}{_format_suffix(file.reason)}"

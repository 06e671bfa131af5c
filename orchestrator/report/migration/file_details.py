"""One file or one shard of a migration: its sites, what was tried on it, where it landed."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, ClassVar

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import UsageProblem
from orchestrator.report.migration.file_groups import list_step_names
from orchestrator.report.run.summary import format_reason

FILE_SCHEMA = "orchestrate.migration-file/1"
SHARD_SCHEMA = "orchestrate.migration-shard/1"


class FileMoveLog:
    """Watches a journal go by for what became of one file at each try."""

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
    """The file of this path, or the shard of this name.

    Raises:
        UsageProblem: the migration has neither.
    """
    known = state.files.get(name) or state.shards.get(name)
    if known is not None:
        return known
    near = get_close_matches(name, [*state.files, *state.shards], n=3)
    if near:
        hint = f": did you mean {', '.join(near)}?"
    else:
        hint = f": it has {len(state.files)} files in scope"
    raise UsageProblem(f"migration {state.run.run} has no file and no shard {name!r}{hint}")


def build_file_details(state: RunState, file: FileRecord, log: FileMoveLog) -> dict[str, Any]:
    """A file, as data. Each site is `done` or `left`; None where some of the file's sites remain, and which is unknown.

    `moves` are all its tries in order. `commit` is that of its shard, if the file landed in it.
    """
    steps = list_step_names(state.recipe)
    shard = state.find_shard_of_file(file.path)
    done = _is_done(file)
    return {
        "schema": FILE_SCHEMA,
        "run": state.run.run,
        "path": file.path,
        "status": file.status.value,
        "owner": file.owner,
        "shard": shard.name if shard else None,
        "commit": shard.commit if shard and file.status == FileStatus.MERGED else None,
        "sites": [
            {"id": place.site, "line": place.line, "column": place.column, "is_done": done} for place in file.places
        ],
        "found": file.sites,
        "remaining": file.remaining_sites,
        "step": _step(steps, file.rung),
        "attempt": file.attempt,
        "reason": file.reason,
        "signature": file.signature,
        "flags": list(file.flags),
        "seconds": round(file.seconds, 3),
        "moves": [_move(move, steps) for move in log.moves],
    }


def _is_done(file: FileRecord) -> bool | None:
    if file.remaining_sites == 0:
        return True
    if file.remaining_sites >= file.sites:
        return False
    return None


def _move(move: FileMoved, steps: list[str]) -> dict[str, Any]:
    return {
        "step": _step(steps, move.rung),
        "attempt": move.attempt,
        "status": move.status.value,
        "reason": move.reason,
        "signature": move.signature,
        "seconds": round(move.seconds, 3),
        "is_cached": move.is_cached,
    }


def _step(steps: list[str], rung: int) -> str | None:
    if 0 <= rung < len(steps):
        return steps[rung]
    return None


def render_file_details(place: dict[str, Any]) -> Iterator[str]:
    """The object of a file for a person."""
    yield from render_file_location(place)
    yield from render_site_lines(place)
    yield from render_file_history(place)


def render_file_location(place: dict[str, Any]) -> Iterator[str]:
    """A file's name and status, and the shard that it belongs to."""
    yield f"{to_one_line(place['path'])}  {place['status']}"
    if place["owner"]:
        owner = f"  owner {to_one_line(place['owner'])}"
    else:
        owner = ""
    if place["commit"]:
        commit = f"  commit {place['commit'][:12]}"
    else:
        commit = ""
    yield f"  shard {to_one_line(place['shard'] or '-')}{owner}{commit}"


def render_site_lines(place: dict[str, Any]) -> Iterator[str]:
    """How many sites a file has, and where each is."""
    yield f"  {place['found']} site{'s' * (place['found'] != 1)}, {place['remaining']} left"
    for site in place["sites"]:
        word = {True: "done", False: "left", None: "done or left"}[site["is_done"]]
        yield f"    {to_one_line(place['path'])}:{site['line']}:{site['column']}  {site['id']}  {word}"


def render_file_history(place: dict[str, Any]) -> Iterator[str]:
    """What became of a file at each try, and why it stands where it does."""
    for move in place["moves"]:
        yield _move_line(move)
    for flag in place["flags"]:
        yield f"  flagged: {to_one_line(flag)}"
    if place["reason"]:
        yield f"  reason: {format_reason(place['reason'])}"
    if place["signature"]:
        yield f"  signature: {format_reason(place['signature'])}"


def _move_line(move: dict[str, Any]) -> str:
    if move["attempt"]:
        attempt = f", try {move['attempt']}"
    else:
        attempt = ""
    if move["is_cached"]:
        known = ", known from an earlier run"
    else:
        known = ""
    if move["reason"]:
        reason = f": {format_reason(move['reason'])}"
    else:
        reason = ""
    if move["seconds"]:
        took = f" ({move['seconds']:.1f} s)"
    else:
        took = ""
    return f"  {move['step'] or '-'}{attempt}{known}: {move['status']}{took}{reason}"


def build_shard_details(state: RunState, shard: Shard) -> dict[str, Any]:
    """A shard, as data."""
    return {
        "schema": SHARD_SCHEMA,
        "run": state.run.run,
        "name": shard.name,
        "status": state.get_shard_status(shard).value,
        "owner": shard.owner,
        "held": shard.held,
        "commit": shard.commit,
        "files": [
            {"path": path, "status": state.files[path].status.value, "reason": state.files[path].reason}
            for path in shard.files
        ],
    }


def render_shard_details(shard: dict[str, Any]) -> Iterator[str]:
    """The object of a shard for a person."""
    if shard["owner"]:
        owner = f"  owner {to_one_line(shard['owner'])}"
    else:
        owner = ""
    if shard["commit"]:
        commit = f"  commit {shard['commit'][:12]}"
    else:
        commit = ""
    yield f"shard {to_one_line(shard['name'])}  {shard['status']}{owner}{commit}"
    if shard["held"]:
        yield f"  held: {format_reason(shard['held'])}"
    for file in shard["files"]:
        if file["reason"]:
            reason = f": {format_reason(file['reason'])}"
        else:
            reason = ""
        yield f"  {file['status']:13} {to_one_line(file['path'])}{reason}"

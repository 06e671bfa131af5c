"""Render one file or one shard of a migration in lines for a person."""

from collections.abc import Iterator

from orchestrator.domain.text.listing import add_lead, format_count
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.migration.file_model import FileDetails, FileMove, ShardDetails
from orchestrator.report.run.summary import format_reason

_SITE_WORDS = {True: "done", False: "left", None: "done or left"}


def render_file_details(file: FileDetails) -> Iterator[str]:
    """Yield all of a file."""
    yield from render_file_location(file)
    yield from render_site_lines(file)
    yield from render_file_history(file)


def render_file_location(file: FileDetails) -> Iterator[str]:
    """Yield a file's name and status, and the shard that it belongs to."""
    yield f"{to_one_line(file.path)}  {file.status}"
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
        yield f"  {file.status:13} {to_one_line(file.path)}{_format_suffix(file.reason)}"

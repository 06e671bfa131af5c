"""Gather what a worker or the arbiter has to see of two sides that clashed: the places, both changes, both intents."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.ids import CommitId
from orchestrator.domain.run.task import Attempt, Clash
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.engine.context import RunContext
from orchestrator.ports.roles import ClashBrief, ContextPiece
from worktrees.diffs.file_diffs import diff_trees, read_diff_text
from worktrees.object_store.trees import TreeEntry, list_tree, read_entry_contents
from worktrees.safety.path_rules import escape_path

_PLACES_CHARS = 16_000
_CHANGE_CHARS = 24_000
_FILE_BYTES = 1_000_000
_CONTEXT_LINES = 3
_BEGIN, _END = compile_lazily(r"^<{7,} "), compile_lazily(r"^>{7,} ")


async def build_clash_brief(context: RunContext, attempt: Attempt) -> ClashBrief | None:
    """Return the two sides that an attempt brings together; None if it does no such thing."""
    clash = attempt.clash
    if clash is None or attempt.start is None:
        return None
    landed = []
    for name in clash.landed:
        if name in context.state.tasks:
            landed.append(context.state.tasks[name].spec)
    return ClashBrief(
        paths=clash.conflict,
        places=tuple(await _read_places(context, attempt.start, clash)),
        landed=tuple(landed),
        landed_change=await _read_change(context, clash.base, attempt.base, _list_contested_paths(context, clash)),
        own_change=await _read_change(context, clash.base, clash.candidate, ()),
    )


def _list_contested_paths(context: RunContext, clash: Clash) -> Sequence[str]:
    """Return the files that clash; where the lines merge, the files of the tasks that landed."""
    if clash.conflict:
        return clash.conflict
    paths: list[str] = []
    for name in clash.landed:
        task = context.state.tasks.get(name)
        if task is not None and task.candidate is not None:
            paths += task.candidate.paths
    return paths


async def _read_change(context: RunContext, old: CommitId, new: CommitId, paths: Sequence[str]) -> str:
    """Return what changed from one commit to another as a patch of bounded length, of these paths if any are given."""
    git, wanted = context.repository.git, frozenset(paths)
    chosen: list[str] = []
    if wanted:
        changed = await diff_trees(git, old, new, has_hunks=False)
        chosen = [path for path in changed.paths if escape_path(path) in wanted]
        if not chosen:
            return ""
    return _limit_text(context, await read_diff_text(git, old, new, chosen), _CHANGE_CHARS)


def _limit_text(context: RunContext, text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    shown = context.journal.redact_text(text)[:limit]  # before a secret could be cut in two
    return f"{shown}\n[the rest is not shown: look at the files]"


async def _read_places(context: RunContext, start: CommitId, clash: Clash) -> list[ContextPiece]:
    """Return the places between markers in the files that clash, as far as there is room."""
    git, left, pieces = context.repository.git, _PLACES_CHARS, []
    contents = await read_entry_contents(git, await _list_clashing_files(context, start, clash))
    for path, content in sorted(contents.items()):
        text = _limit_text(context, "\n...\n".join(_cut_places(content.decode("utf-8", "replace"))), max(left, 0))
        if text and left > 0:
            pieces.append(ContextPiece(label="clash", title=escape_path(path), text=text))
            left -= len(text)
    return pieces


async def _list_clashing_files(context: RunContext, start: CommitId, clash: Clash) -> list[TreeEntry]:
    found = []
    if clash.conflict:
        for entry in await list_tree(context.repository.git, start):
            if entry.kind == "blob" and (entry.size or 0) <= _FILE_BYTES and escape_path(entry.path) in clash.conflict:
                found.append(entry)
    return found


def _cut_places(text: str) -> Iterator[str]:
    """Yield each stretch from an opening to a closing marker, with a few lines around it."""
    lines = text.splitlines()
    begin: int | None = None
    for number, line in enumerate(lines):
        if begin is None and _BEGIN.match(line):
            begin = number
        elif begin is not None and _END.match(line):
            first, last = max(0, begin - _CONTEXT_LINES), number + 1 + _CONTEXT_LINES
            yield f"line {begin + 1}\n" + "\n".join(lines[first:last])
            begin = None

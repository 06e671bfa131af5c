"""Reading from git what the lenses show of a candidate."""

from collections.abc import Iterable

from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.domain.review import Shown, View
from orchestrator.engine.context import RunContext
from orchestrator.judge.addressed import made_visible
from orchestrator.judge.changed import LINK
from orchestrator.judge.reading_order import read_first
from orchestrator.judge.rules import some
from orchestrator.judge.views import VIEW_CHARS, code_view, codebase_view, diff_view
from worktrees.diff import Diff, diff, diff_text
from worktrees.git import Git
from worktrees.names import printable
from worktrees.trees import Entry, list_tree, read_blobs

_CUT_CHARS = 20_000
_FILE_BYTES = 1_000_000
"""A larger file is not shown by views that need the whole of it."""


async def view_of(context: RunContext, view: View, base: CommitId, candidate: CommitId) -> Shown:
    """What a lens with this view shows of a candidate.

    Raises:
        GitError: one of the commits does not exist.
    """
    git = context.repository.git
    changed = await diff(git, base, candidate)
    match view:
        case View.DIFF:
            text = made_visible(await diff_text(git, base, candidate))
            text, unseen = read_first(text, changed, VIEW_CHARS)
            told = f"\n[not shown, or not wholly: {some([*map(printable, unseen)], ', ')}]" if unseen else ""
            return diff_view(_bounded(context, text) + told, changed, unseen)
        case View.CODE:
            shown = await _code(git, changed, base, candidate)
        case View.CODEBASE:
            shown = await _codebase(git, changed, candidate)
    return shown.model_copy(update={"text": _bounded(context, shown.text)})


def _bounded(context: RunContext, text: str) -> str:
    if len(text) <= VIEW_CHARS:
        return text
    shown = context.journal.redact(text[: VIEW_CHARS + _CUT_CHARS])[:VIEW_CHARS]  # before it could be cut in two
    return f"{shown}\n[{len(text) - VIEW_CHARS} more characters are not shown]"


async def _code(git: Git, changed: Diff, base: CommitId, candidate: CommitId) -> Shown:
    texts = [file for file in changed.files if file.hunks]
    old = await _contents(git, await _entries(git, base, (file.old_path or file.path for file in texts)))
    new = await _contents(git, await _entries(git, candidate, (file.path for file in texts)))
    sides = {file.path: (old.get(file.old_path or file.path), new.get(file.path)) for file in texts}
    return await to_thread.run_sync(code_view, changed, sides)


async def _codebase(git: Git, changed: Diff, candidate: CommitId) -> Shown:
    tree = {entry.path: entry for entry in await list_tree(git, candidate)}
    there = [tree[path] for path in changed.paths if path in tree]
    contents = await _contents(git, there)
    return codebase_view(
        {entry.path: contents.get(entry.path) for entry in there},
        [path for path in changed.paths if path not in tree],
        list(tree),
    )


async def _entries(git: Git, commit: CommitId, paths: Iterable[str]) -> list[Entry]:
    wanted = list(paths)
    return [entry for entry in await list_tree(git, commit, wanted) if entry.path in wanted] if wanted else []


async def _contents(git: Git, entries: Iterable[Entry]) -> dict[str, bytes]:
    """The contents of plain files that are not too large, by path."""
    read = [e for e in entries if e.kind == "blob" and e.mode != LINK and (e.size or 0) <= _FILE_BYTES]
    blobs = await read_blobs(git, [entry.oid for entry in read])
    return {entry.path: blobs[entry.oid] for entry in read}

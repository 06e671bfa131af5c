"""The last rung: what no step could bring through waits for a person, with notes on a ref that never lands."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from orchestrator.domain.event.landing import RefSet, RefSetting
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.engine.context import RunContext
from orchestrator.migrate.ladder.passes import NOTHING_CHANGED
from orchestrator.migrate.steps.parse_check import find_parse_error
from orchestrator.ports.effect import record_effect
from worktrees.object_store.trees import read_blobs, write_blob
from worktrees.ref_store.refs import set_ref

_REASON_CHARS = 300
_MARKS: dict[str, str] = {
    **dict.fromkeys((".py", ".pyi", ".sh", ".rb", ".pl", ".toml", ".yaml", ".yml", ".cfg", ".mk"), "#"),
    **dict.fromkeys((".js", ".cjs", ".mjs", ".jsx", ".ts", ".tsx", ".go", ".rs", ".java", ".kt"), "//"),
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".swift", ".scala"), "//"),
    **dict.fromkeys((".sql", ".lua", ".hs"), "--"),
}
"""The beginning of a one-line comment, by suffix."""
_NOT_FIRST = (b"#!", b"<?", b"\xef\xbb\xbf", b"# -*-", b"# coding", b"# vim")
"""A first line that has to stay the first one."""


async def hand_over_files(
    context: RunContext, recipe: Recipe, rung: int, files: Sequence[FileRecord], start: CommitId
) -> None:
    """Let the files wait for a person, with the last reason.

    With `note`, comments that say it are kept as `refs/orchestrate/RUN/human`, on top of `start`.
    """
    step = recipe.step[rung]
    if not files:
        return
    if step.kind == "human" and step.note:
        await _keep_notes(context, recipe, files, start)
    moves = []
    for file in files:
        move = FileMoved(
            path=file.path,
            status=FileStatus.NEEDS_HUMAN,
            rung=rung,
            blob=file.blob,
            reason=file.reason or NOTHING_CHANGED,
            signature=file.signature or NOTHING_CHANGED,
            failure=file.failure,
        )
        moves.append(move)
    await context.journal.append(*moves)


async def _keep_notes(context: RunContext, recipe: Recipe, files: Sequence[FileRecord], start: CommitId) -> None:
    git = context.repository.git
    waiting = [file for file in context.state.migration.files.values() if file.status == FileStatus.NEEDS_HUMAN]
    waiting += files
    contents = await read_blobs(git, [file.branch_blob for file in waiting])
    noted: dict[str, tuple[str, str] | None] = {}
    for file in waiting:
        text = context.journal.redact_text(file.reason or NOTHING_CHANGED)
        content = insert_note(file.path, contents[file.branch_blob], f"{recipe.migration.id}: {text}")
        if content is not None:
            noted[file.path] = (file.mode, await write_blob(git, content))
    message = f"Notes on files that wait for a person ({len(noted)})\n"
    commit, _ = await context.commit_changes(start, noted, message)
    await point_ref(context, context.refs.human, commit)


async def point_ref(context: RunContext, ref: str, commit: str) -> None:
    """Point a ref of the run's own at a commit, as a recorded effect."""
    setting = RefSetting(key=context.journal.build_next_key(f"ref/{ref}"), ref=ref, object=commit)
    async with record_effect(context.journal, setting) as effect:
        await set_ref(context.repository.git, ref, commit)
        effect.done = RefSet(key=setting.key)


def insert_note(path: str, content: bytes, note: str) -> bytes | None:
    """Return the content with a comment before its first line of code.

    None where it is not known how to write one, or where the file would not parse any more.
    """
    mark = _MARKS.get(PurePosixPath(path).suffix)
    if mark is None or b"\0" in content:
        return None
    lines = content.splitlines(keepends=True)
    at = 0
    while at < len(lines) and lines[at].lower().startswith(_NOT_FIRST):
        at += 1
    if at and not lines[at - 1].endswith((b"\n", b"\r")):
        return None
    end = b"\r\n" if lines and lines[0].endswith(b"\r\n") else b"\n"
    comment = f"{mark} {to_one_line(note, _REASON_CHARS)}".encode("utf-8", "replace") + end
    noted = b"".join((*lines[:at], comment, *lines[at:]))
    return None if find_parse_error(path, content, noted) else noted

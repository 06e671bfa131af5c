"""Reading from git and the journal what a model is shown of a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.text.truncation import show_control_characters
from orchestrator.engine.context import RunContext
from orchestrator.migrate.models.context_budget import ContextEntry, fit_pieces, get_token_budget, parse_context_entries
from orchestrator.migrate.models.failure_evidence import render_failures
from orchestrator.migrate.models.related_files import choose_examples, choose_siblings
from orchestrator.migrate.recipe import Recipe, Step
from orchestrator.migrate.steps.parse_check import find_parse_error
from orchestrator.ports.roles import ContextPiece, FileBrief
from worktrees.diffs.file_diffs import read_diff_text
from worktrees.git import Git
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import TreeEntry, list_tree, read_blobs, write_empty_tree
from worktrees.safety.path_rules import escape_path

_FILE_BYTES = 512 * 1024
"""A larger file is shown to no model: it can look into it by its tools."""
_PLAIN = frozenset({"100644", "100755"})


@dataclass(frozen=True)
class ModelPass:
    """One try of a model step: which step, which attempt, and the commit that its files start from."""

    recipe: Recipe
    rung: int
    attempt: int
    start: CommitId
    showable_entries: list[TreeEntry] = field(default_factory=list)
    """The files of the start that can be shown, once somebody has asked for them."""

    @property
    def step(self) -> Step:
        """The step."""
        return self.recipe.step[self.rung]


async def choose_model_blob(git: Git, step: Step, file: FileRecord) -> str:
    """The content that a step is given of a file: what failed, or what stands on the branch."""
    if not file.status.is_failed:
        return file.blob or file.branch_blob
    if step.start == "original" or file.tried is None:
        return file.branch_blob
    if step.start == "tried":
        return file.tried
    contents = await read_blobs(git, [file.branch_blob, file.tried])
    is_broken = file.signature.startswith("does not parse")
    is_broken = is_broken or bool(find_parse_error(file.path, contents[file.branch_blob], contents[file.tried]))
    if is_broken:
        return file.branch_blob
    return file.tried


async def build_file_brief(context: RunContext, at: ModelPass, file: FileRecord, task: TaskState | None) -> FileBrief:
    """What the worker of a file is told: as much of the step's context as the attempt has room for."""
    pieces = []
    for one in parse_context_entries(at.step.context):
        for piece in await _pieces(context, at, file, task, one):
            pieces.append(piece)
    shown, left_out = fit_pieces(pieces, get_token_budget(at.step, at.attempt))
    return FileBrief(
        path=escape_path(file.path),
        recipe=at.recipe.title,
        description=at.recipe.migration.description,
        instructions=at.step.prompt,
        attempt=at.attempt,
        attempts=at.step.attempts,
        pieces=shown,
        left_out=left_out,
        note=file.note,
    )


async def _pieces(
    context: RunContext, at: ModelPass, file: FileRecord, task: TaskState | None, one: ContextEntry
) -> Sequence[ContextPiece]:
    git = context.repository.git
    match one.name:
        case "file":
            text = await _text(git, await choose_model_blob(git, at.step, file))
            return _piece("file", "The file as your copy holds it:", text)
        case "original":
            return _piece(
                "original", "The file as it was before anything was tried:", await _text(git, file.branch_blob)
            )
        case "codemod_diff":
            if file.status.is_failed:
                tried = file.tried
            else:
                tried = file.blob
            text = await _change(git, file, file.branch_blob, tried or file.branch_blob)
            return _piece("codemod-diff", "What was made of it last, against what it was before:", text)
        case "failures":
            return _piece("failures", "What speaks against it:", await render_failures(context, file, task))
        case "siblings":
            return await _siblings(git, at, file, one.count)
        case _:
            return await _examples(context, file, one.count)


def _piece(label: str, title: str, text: str) -> Sequence[ContextPiece]:
    """The piece, if there is anything to show."""
    if text.strip():
        return [ContextPiece(label=label, title=title, text=show_control_characters(text))]
    return []


async def _siblings(git: Git, at: ModelPass, file: FileRecord, most: int) -> Sequence[ContextPiece]:
    if not at.showable_entries:
        at.showable_entries.extend(_shown(await list_tree(git, at.start)))
    text = await _text(git, file.branch_blob)
    chosen = choose_siblings(file.path, text, (entry.path for entry in at.showable_entries), most)
    oids = {entry.path: entry.oid for entry in at.showable_entries}
    return [
        piece
        for path in chosen
        for piece in _piece("sibling", f"Its neighbour {escape_path(path)}:", await _text(git, oids[path]))
    ]


def _shown(entries: Sequence[TreeEntry]) -> Iterator[TreeEntry]:
    return (entry for entry in entries if entry.mode in _PLAIN and (entry.size or 0) <= _FILE_BYTES)


async def _examples(context: RunContext, file: FileRecord, most: int) -> Sequence[ContextPiece]:
    git, found = context.repository.git, list[ContextPiece]()
    for other in choose_examples(file, context.state.files.values(), most):
        text = await _change(git, other, other.base, other.landed or other.base)
        found += _piece("example", f"How {escape_path(other.path)} was migrated, and accepted:", text)
    return found


async def _change(git: Git, file: FileRecord, old: str, new: str) -> str:
    """The unified diff between two contents of a file."""
    if old == new:
        return ""
    empty = await write_empty_tree(git)
    before, after = [await overlay_tree(git, empty, {file.path: (file.mode, blob)}) for blob in (old, new)]
    return await read_diff_text(git, before, after)


async def _text(git: Git, blob: str) -> str:
    """A content as text; empty if it is none, or too large."""
    content = (await read_blobs(git, [blob]))[blob]
    is_text = b"\0" not in content and len(content) <= _FILE_BYTES
    if is_text:
        return content.decode("utf-8", "replace")
    return ""

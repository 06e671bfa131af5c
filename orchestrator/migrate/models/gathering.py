"""Reading from git and the journal what a model is shown of a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.excerpt import visible
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration import FileRecord
from orchestrator.domain.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.migrate.models.evidence import failures
from orchestrator.migrate.models.examples import examples, siblings
from orchestrator.migrate.models.showing import Wanted, fitted, tokens_of, wanted
from orchestrator.migrate.recipe import Recipe, Step
from orchestrator.migrate.steps.parsing import parse_error
from orchestrator.ports.roles import FileBrief, Piece
from worktrees.diff import diff_text
from worktrees.git import Git
from worktrees.names import printable
from worktrees.trees import Entry, empty_tree, list_tree, overlay, read_blobs

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
    listed: list[Entry] = field(default_factory=list)
    """The files of the start that can be shown, once somebody has asked for them."""

    @property
    def step(self) -> Step:
        """The step."""
        return self.recipe.step[self.rung]


async def starting_blob(git: Git, step: Step, file: FileRecord) -> str:
    """The content that a step is given of a file: what failed, or what stands on the branch."""
    if not file.status.is_failed:
        return file.blob or file.stands
    if step.start == "original" or file.tried is None:
        return file.stands
    if step.start == "tried":
        return file.tried
    contents = await read_blobs(git, [file.stands, file.tried])
    is_broken = file.signature.startswith("does not parse")
    is_broken = is_broken or bool(parse_error(file.path, contents[file.stands], contents[file.tried]))
    return file.stands if is_broken else file.tried


async def file_brief(context: RunContext, at: ModelPass, file: FileRecord, task: TaskState | None) -> FileBrief:
    """What the worker of a file is told: as much of the step's context as the attempt has room for."""
    pieces = [piece for one in wanted(at.step.context) for piece in await _pieces(context, at, file, task, one)]
    shown, left_out = fitted(pieces, tokens_of(at.step, at.attempt))
    return FileBrief(
        path=printable(file.path),
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
    context: RunContext, at: ModelPass, file: FileRecord, task: TaskState | None, one: Wanted
) -> Sequence[Piece]:
    git = context.repository.git
    match one.name:
        case "file":
            text = await _text(git, await starting_blob(git, at.step, file))
            return _piece("file", "The file as your copy holds it:", text)
        case "original":
            return _piece("original", "The file as it was before anything was tried:", await _text(git, file.stands))
        case "codemod_diff":
            tried = file.tried if file.status.is_failed else file.blob
            text = await _change(git, file, file.stands, tried or file.stands)
            return _piece("codemod-diff", "What was made of it last, against what it was before:", text)
        case "failures":
            return _piece("failures", "What speaks against it:", await failures(context, file, task))
        case "siblings":
            return await _siblings(git, at, file, one.count)
        case _:
            return await _examples(context, file, one.count)


def _piece(label: str, title: str, text: str) -> Sequence[Piece]:
    """The piece, if there is anything to show."""
    return [Piece(label=label, title=title, text=visible(text))] if text.strip() else []


async def _siblings(git: Git, at: ModelPass, file: FileRecord, most: int) -> Sequence[Piece]:
    if not at.listed:
        at.listed.extend(_shown(await list_tree(git, at.start)))
    text = await _text(git, file.stands)
    chosen = siblings(file.path, text, (entry.path for entry in at.listed), most)
    oids = {entry.path: entry.oid for entry in at.listed}
    return [
        piece
        for path in chosen
        for piece in _piece("sibling", f"Its neighbour {printable(path)}:", await _text(git, oids[path]))
    ]


def _shown(entries: Sequence[Entry]) -> Iterator[Entry]:
    return (entry for entry in entries if entry.mode in _PLAIN and (entry.size or 0) <= _FILE_BYTES)


async def _examples(context: RunContext, file: FileRecord, most: int) -> Sequence[Piece]:
    git, found = context.repository.git, list[Piece]()
    for other in examples(file, context.state.files.values(), most):
        text = await _change(git, other, other.base, other.landed or other.base)
        found += _piece("example", f"How {printable(other.path)} was migrated, and accepted:", text)
    return found


async def _change(git: Git, file: FileRecord, old: str, new: str) -> str:
    """The unified diff between two contents of a file."""
    if old == new:
        return ""
    empty = await empty_tree(git)
    before, after = [await overlay(git, empty, {file.path: (file.mode, blob)}) for blob in (old, new)]
    return await diff_text(git, before, after)


async def _text(git: Git, blob: str) -> str:
    """A content as text; empty if it is none, or too large."""
    content = (await read_blobs(git, [blob]))[blob]
    is_text = b"\0" not in content and len(content) <= _FILE_BYTES
    return content.decode("utf-8", "replace") if is_text else ""

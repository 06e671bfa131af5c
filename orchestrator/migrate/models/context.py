"""Reading from git and the journal what a model is shown of a file, as much as an attempt's size of context holds."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.judging.verdict import VerdictKind
from orchestrator.domain.migration.files import FailureKind, FileRecord
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.step import ModelStep
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.text.truncation import show_control_characters
from orchestrator.engine.context import RunContext
from orchestrator.judge.reports.failure_signature import extract_failure_excerpt
from orchestrator.llm.budget import CHARS_PER_TOKEN
from orchestrator.migrate.models.related_files import choose_examples, choose_siblings
from orchestrator.migrate.steps.parse_check import find_parse_error
from orchestrator.ports.ledger import read_last_output
from orchestrator.ports.roles import ContextPiece, FileBrief
from worktrees.diffs.file_diffs import read_diff_text
from worktrees.git import Git
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import TreeEntry, list_tree, read_blobs, write_empty_tree
from worktrees.safety.path_rules import escape_path

_TESTS = 20
_EJECTIONS = 6
"""Of very many failed tries the newest are told."""


_MARK_CHARS = 60
"""Room for the line that says how much is not shown."""
_FILE_BYTES = 512 * 1024
"""A larger file is shown to no model: it can look into it by its tools."""
_PLAIN = frozenset({"100644", "100755"})


async def render_failures(context: RunContext, file: FileRecord, task: TaskState | None) -> str:
    """Return why the file could not land so far, newest first; empty if nothing has failed.

    That is reasons, failing tests, what the check printed, and what was found in earlier attempts of `task`.
    """
    parts = []
    if file.status.is_failed:
        parts.append(_describe_latest(file))
    ejections = [ejection for ejection in context.state.ejections if ejection.unit == UnitId(file.path)]
    for ejection in reversed(ejections[-_EJECTIONS:]):
        parts.append(await _describe_ejection(context, ejection))
    parts += _list_refusals(task)
    return "\n\n".join(filter(None, parts))


def _describe_latest(file: FileRecord) -> str:
    if not file.reason:
        return ""
    text = f"The latest change failed: {file.reason}"
    if file.signature:
        text += f"\nWhat it has in common with failures of its kind: {file.signature}"
    return text


async def _describe_ejection(context: RunContext, ejection: UnitEjected) -> str:
    difference = ejection.difference
    kinds = (
        ("tests that fail with the change and did not before", difference.new_failures),
        ("tests that are missing with the change", difference.missing_tests),
        ("tests that are skipped with the change", difference.newly_skipped),
        ("tests that say one thing in one run and another in the next", difference.unsettled),
        ("red only together with the changes of", tuple(map(str, ejection.partners))),
    )
    lines = [f"Found by the tests in {ejection.round}:", *difference.problems]
    for what, names in kinds:
        if names:
            lines.append(f"{what} ({len(names)}): {', '.join(names[:_TESTS])}")
    output = await read_last_output(context.journal, ejection.receipts)
    if printed := extract_failure_excerpt(output, (*difference.lost_tests, *difference.unsettled)):
        lines += ["The check printed:", printed]
    return "\n".join(lines)


def _list_refusals(task: TaskState | None) -> Iterator[str]:
    for given in reversed(task.verdicts if task else ()):
        if given.verdict.kind != VerdictKind.MERGE and given.verdict.reasons:
            reasons = "\n".join(given.verdict.reasons)
            yield f"Found in the result of an earlier attempt:\n{reasons}"


@dataclass(frozen=True)
class ContextEntry:
    """One entry of a step's `context`: what is to be shown, and of how many files."""

    name: str
    count: int


def parse_context_entries(context: Iterable[str]) -> list[ContextEntry]:
    """Return `{siblings:2}` as its name and number; without a number it is 1."""
    found = []
    for item in context:
        name, _, count = item.strip("{}").partition(":")
        found.append(ContextEntry(name, int(count) if count.isdigit() else 1))
    return found


def get_token_budget(step: ModelStep, attempt: int) -> int:
    """Return how many tokens an attempt may be shown, from 1; the last size holds for all further ones."""
    return step.context_tokens[min(attempt, len(step.context_tokens)) - 1]


def fit_pieces(pieces: Iterable[ContextPiece], tokens: int) -> tuple[tuple[ContextPiece, ...], tuple[str, ...]]:
    """Return the pieces that there is room for, and the titles of the others.

    Nothing of a piece is shown after one that had to be cut, so what comes first in the recipe comes first here.
    """
    left = tokens * CHARS_PER_TOKEN
    shown: list[ContextPiece] = []
    left_out: list[str] = []
    for piece in pieces:
        if (text := _cut_text(piece.text, left)) is None:
            left, text = 0, ""
            left_out.append(piece.title.rstrip(":"))
            continue
        shown.append(piece.model_copy(update={"text": text}))
        left = left - len(text) if text == piece.text else 0
    return tuple(shown), tuple(left_out)


def _cut_text(text: str, room: int) -> str | None:
    """Return the text, or its first lines with a last one that says so; None if not even one line has room."""
    if len(text) <= room:
        return text
    lines = text.split("\n")
    ends = list(accumulate(len(line) + 1 for line in lines))
    count = bisect_right(ends, room - _MARK_CHARS)
    if not count:
        return None
    return text[: ends[count - 1]] + f"[cut here: {count} of {len(lines)} lines are shown]"


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
    def step(self) -> ModelStep:
        """The step."""
        step = self.recipe.step[self.rung]
        assert step.kind == "llm", "a model pass is a pass of a model step"
        return step


async def choose_model_blob(git: Git, step: ModelStep, file: FileRecord) -> str:
    """Return the content that a step is given of a file: what failed, or what stands on the branch."""
    if not file.status.is_failed:
        return file.blob or file.branch_blob
    if step.start == "original" or file.tried is None:
        return file.branch_blob
    if step.start == "tried":
        return file.tried
    if file.failure == FailureKind.PARSE:
        return file.branch_blob
    contents = await read_blobs(git, [file.branch_blob, file.tried])
    if find_parse_error(file.path, contents[file.branch_blob], contents[file.tried]):
        return file.branch_blob
    return file.tried


async def build_file_brief(context: RunContext, at: ModelPass, file: FileRecord, task: TaskState | None) -> FileBrief:
    """Return the brief for the worker of a file: as much of the step's context as the attempt has room for."""
    pieces: list[ContextPiece] = []
    for entry in parse_context_entries(at.step.context):
        pieces += await _read_pieces(context, at, file, task, entry)
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


async def _read_pieces(
    context: RunContext, at: ModelPass, file: FileRecord, task: TaskState | None, entry: ContextEntry
) -> Sequence[ContextPiece]:
    git = context.repository.git
    match entry.name:
        case "file":
            text = await _read_text(git, await choose_model_blob(git, at.step, file))
            return _make_piece("file", "The file as your copy holds it:", text)
        case "original":
            return _make_piece(
                "original", "The file as it was before anything was tried:", await _read_text(git, file.branch_blob)
            )
        case "codemod_diff":
            latest = file.tried if file.status.is_failed else file.blob
            text = await _read_change(git, file, file.branch_blob, latest or file.branch_blob)
            return _make_piece("codemod-diff", "What was made of it last, against what it was before:", text)
        case "failures":
            return _make_piece("failures", "What speaks against it:", await render_failures(context, file, task))
        case "siblings":
            return await _read_siblings(git, at, file, entry.count)
        case _:
            return await _read_examples(context, file, entry.count)


def _make_piece(label: str, title: str, text: str) -> Sequence[ContextPiece]:
    """Return the piece, if there is anything to show."""
    if text.strip():
        return [ContextPiece(label=label, title=title, text=show_control_characters(text))]
    return []


async def _read_siblings(git: Git, at: ModelPass, file: FileRecord, most: int) -> Sequence[ContextPiece]:
    if not at.showable_entries:
        for listed in await list_tree(git, at.start):
            if listed.mode in _PLAIN and (listed.size or 0) <= _FILE_BYTES:
                at.showable_entries.append(listed)
    text = await _read_text(git, file.branch_blob)
    oids = {entry.path: entry.oid for entry in at.showable_entries}
    pieces: list[ContextPiece] = []
    for path in choose_siblings(file.path, text, oids, most):
        pieces += _make_piece("sibling", f"Its neighbour {escape_path(path)}:", await _read_text(git, oids[path]))
    return pieces


async def _read_examples(context: RunContext, file: FileRecord, most: int) -> Sequence[ContextPiece]:
    git, found = context.repository.git, list[ContextPiece]()
    for other in choose_examples(file, context.state.migration.files.values(), most):
        text = await _read_change(git, other, other.base, other.landed or other.base)
        found += _make_piece("example", f"How {escape_path(other.path)} was migrated, and accepted:", text)
    return found


async def _read_change(git: Git, file: FileRecord, old: str, new: str) -> str:
    """Return the unified diff between two contents of a file."""
    if old == new:
        return ""
    empty = await write_empty_tree(git)
    before = await overlay_tree(git, empty, {file.path: (file.mode, old)})
    after = await overlay_tree(git, empty, {file.path: (file.mode, new)})
    return await read_diff_text(git, before, after)


async def _read_text(git: Git, blob: str) -> str:
    """Return a content as text; empty if it is none, or too large."""
    content = (await read_blobs(git, [blob]))[blob]
    is_text = b"\0" not in content and len(content) <= _FILE_BYTES
    return content.decode("utf-8", "replace") if is_text else ""

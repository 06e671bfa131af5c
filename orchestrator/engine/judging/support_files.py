"""The support among the files that a candidate changes: what the gate on its base reads beside product and tests."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from anyio import to_thread

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import Receipt
from orchestrator.engine.context import RunContext
from orchestrator.judge.files.changed_file import SYMLINK_MODE, ChangedFile, find_path_protection
from orchestrator.judge.gate.check_runner import build_check_key
from orchestrator.judge.gate.run_traces import read_run_traces
from orchestrator.judge.support.base_sources import CODE_SUFFIXES, BaseSources
from orchestrator.judge.support.division import Support, TreeDivision
from worktrees.object_store.trees import TreeEntry, list_tree, read_entry_contents

_METADATA = frozenset({"pyproject.toml", "setup.cfg", "setup.py"})
_MOST_BYTES = 256 * 1024
_MOST_READ = 5_000


async def find_changed_support(
    context: RunContext, base: CommitId, files: Sequence[ChangedFile]
) -> Mapping[str, Support]:
    """Return which of the changed files of a base are support, and why; nothing where no run could be watched.

    Raises:
        GitError: the base does not exist.
    """
    opened = await _read_opened_files(context, await context.read_tree_id(base))
    asked = []
    for file in files:
        if not file.is_new and file.path in opened and find_path_protection(file.path) is None:
            asked.append(file.path)
    if not asked:
        return {}
    git = context.repository.git
    tree = [entry for entry in await list_tree(git, base) if entry.kind == "blob"]
    sources = await read_entry_contents(git, list(filter(_is_source, tree))[:_MOST_READ])
    division = TreeDivision(BaseSources(frozenset(entry.path for entry in tree), sources), opened)
    return await to_thread.run_sync(_find_support, division, asked)


def _find_support(division: TreeDivision, paths: Sequence[str]) -> Mapping[str, Support]:
    found = {}
    for path in paths:
        if support := division.find_support(path):
            found[path] = support
    return found


def _is_source(entry: TreeEntry) -> bool:
    is_readable = entry.mode != SYMLINK_MODE and (entry.size or 0) <= _MOST_BYTES
    return is_readable and (PurePosixPath(entry.path).suffix in CODE_SUFFIXES or entry.path in _METADATA)


async def _read_opened_files(context: RunContext, base: TreeId) -> frozenset[str]:
    """Return what the gate's runs on the run's base and on this one opened."""
    opened = set[str]()
    for trace in await read_run_traces(context.journal, _list_base_receipts(context, base)):
        opened.update(trace.opened or ())
    return frozenset(opened)


def _list_base_receipts(context: RunContext, base: TreeId) -> list[Receipt]:
    checks = set(map(build_check_key, context.gate.checks))
    receipts = list(context.state.get_baseline_receipts().values())
    for receipt in context.state.receipts.values():
        if receipt.tree == base and receipt.check in checks and receipt not in receipts:
            receipts.append(receipt)
    return receipts

"""Files of a candidate by what the gate's runs on its base tell of them: which are support, which hold tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from anyio import to_thread

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import SELECTED_CHECK, Receipt
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.gate_files import find_gate_files
from orchestrator.judge.files.changed_file import SYMLINK_MODE, ChangedFile, find_path_protection
from orchestrator.judge.gate.check_runner import build_check_key
from orchestrator.judge.gate.flakiness import read_known_outcomes
from orchestrator.judge.gate.run_traces import read_run_traces
from orchestrator.judge.support.base_sources import CODE_SUFFIXES, BaseSources
from orchestrator.judge.support.division import Support, TreeDivision
from orchestrator.judge.support.inline_ids import find_doctested_files, find_self_testing_files
from orchestrator.judge.support.newcomers import Newcomer, NewcomerFinder
from worktrees.object_store.trees import TreeEntry, list_tree, read_entry_contents

_METADATA = frozenset({"pyproject.toml", "setup.cfg", "setup.py"})
_MOST_BYTES = 256 * 1024
_MOST_READ = 5_000


@dataclass(frozen=True)
class BaseReading:
    """The files of a change as the gate on the base sees them.

    `gate_files` are the folded paths of what its commands name. `support` is what its runs read beside product and
    tests, and what CI configuration names, with what makes it that. `doctested` are files whose examples the runs took
    for tests, `self_testing` files of the product that hold tests. `is_watched` is false if nobody could watch what the
    runs opened.
    """

    gate_files: frozenset[str] = frozenset()
    support: Mapping[str, Support] = field(default_factory=dict)
    doctested: frozenset[str] = frozenset()
    self_testing: frozenset[str] = frozenset()
    is_watched: bool = True


async def read_base_gate(context: RunContext, base: CommitId, files: Sequence[ChangedFile]) -> BaseReading:
    """Return what is known of the changed files of a base; of what its runs read, nothing where none was watched.

    Raises:
        GitError: the base does not exist.
    """
    receipts = _list_base_receipts(context, await context.read_tree_id(base))
    paths = [file.path for file in files if not file.is_new]
    tests = set[str]()
    for outcomes in await read_known_outcomes(context.journal, receipts):
        tests.update(outcomes)
    gate = await find_gate_files(context, base, files)
    opened = await _read_opened_files(context, receipts)
    support = dict(await _find_changed_support(context, base, paths, opened or frozenset()))
    for path in paths:
        if path in gate.named_by_ci:
            support[path] = Support(f"{gate.named_by_ci[path]} names it")
    commands = [check.run for check in context.gate.checks]
    doctested = find_doctested_files(paths, tests, commands)
    self_testing = find_self_testing_files(paths, tests)
    return BaseReading(gate.folded, support, doctested, self_testing, is_watched=opened is not None)


async def _find_changed_support(
    context: RunContext, base: CommitId, paths: Sequence[str], opened: frozenset[str]
) -> Mapping[str, Support]:
    asked = [path for path in paths if path in opened and find_path_protection(path) is None]
    if not asked:
        return {}
    division = TreeDivision(await _read_sources(context, base), opened)
    return await to_thread.run_sync(_find_support, division, asked)


async def find_newcomers(
    context: RunContext, base: CommitId, tree: TreeId, files: Sequence[ChangedFile]
) -> Mapping[str, Newcomer]:
    """Return which new files of a candidate's tree its gate's runs read although nobody asked for them.

    Raises:
        GitError: the base does not exist.
    """
    base_receipts = _list_base_receipts(context, await context.read_tree_id(base))
    opened = await _read_opened_files(context, base_receipts)
    now = await _read_opened_files(context, _list_gate_receipts(context, tree))
    fresh = [file.path for file in files if file.is_new and file.path in (now or ())]
    if opened is None or not fresh:
        return {}
    before = await _read_sources(context, base)
    sources, paths = dict(before.sources), set(before.paths)
    for file in files:
        if file.is_deleted:
            paths.discard(file.path)
        elif file.is_new:
            paths.add(file.path)
        is_code = PurePosixPath(file.path).suffix in CODE_SUFFIXES
        if is_code and file.after is not None and file.new_mode != SYMLINK_MODE:
            sources[file.path] = file.after
    finder = NewcomerFinder(before, opened, BaseSources(paths, sources))
    return await to_thread.run_sync(_list_newcomers, finder, fresh)


def _list_newcomers(finder: NewcomerFinder, paths: Sequence[str]) -> Mapping[str, Newcomer]:
    found = {}
    for path in paths:
        if newcomer := finder.find_newcomer(path):
            found[path] = newcomer
    return found


async def _read_sources(context: RunContext, base: CommitId) -> BaseSources:
    git = context.repository.git
    tree = [entry for entry in await list_tree(git, base) if entry.kind == "blob"]
    sources = await read_entry_contents(git, list(filter(_is_source, tree))[:_MOST_READ])
    return BaseSources(frozenset(entry.path for entry in tree), sources)


async def _read_opened_files(context: RunContext, receipts: Sequence[Receipt]) -> frozenset[str] | None:
    """Return what runs opened, as far as they were watched; None if none of them was."""
    found = [trace.opened for trace in await read_run_traces(context.journal, receipts) if trace.opened is not None]
    return frozenset().union(*found) if found else None


def _find_support(division: TreeDivision, paths: Sequence[str]) -> Mapping[str, Support]:
    found = {}
    for path in paths:
        if support := division.find_support(path):
            found[path] = support
    return found


def _is_source(entry: TreeEntry) -> bool:
    is_readable = entry.mode != SYMLINK_MODE and (entry.size or 0) <= _MOST_BYTES
    return is_readable and (PurePosixPath(entry.path).suffix in CODE_SUFFIXES or entry.path in _METADATA)


def _list_base_receipts(context: RunContext, base: TreeId) -> list[Receipt]:
    """Return the receipts of the gate's runs on the run's base, and of those on this one."""
    receipts = {receipt.key: receipt for receipt in context.state.get_baseline_receipts().values()}
    for receipt in _list_gate_receipts(context, base):
        receipts[receipt.key] = receipt
    return list(receipts.values())


def _list_gate_receipts(context: RunContext, tree: TreeId) -> list[Receipt]:
    """Return the receipts of the gate's runs on a tree, also of those of selected tests."""
    checks = set(map(build_check_key, context.gate.checks))
    runs = context.state.list_receipts_on(tree)
    return [one for one in runs if one.check in checks or one.kind == SELECTED_CHECK]

"""The gate's own files on a base: what its commands name, and what CI configuration names beside them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.engine.context import RunContext
from orchestrator.judge.files.changed_file import SYMLINK_MODE, ChangedFile, find_path_protection, is_test_path
from orchestrator.judge.files.classification import is_prose
from orchestrator.judge.gate_files.ci_commands import is_ci_configuration, iterate_ci_commands
from orchestrator.judge.gate_files.command_lines import join_path
from orchestrator.judge.gate_files.finder import GateFileFinder, fold_path, iterate_imported_names
from worktrees.git import Git
from worktrees.object_store.object_ids import ImmutableCache
from worktrees.object_store.trees import TreeEntry, list_tree, read_blobs, read_entry_contents

_HOPS = 3
"""The number of steps over which files are followed that name others."""
_MOST_BYTES = 256 * 1024
_MOST_READ = 500
_Named = Mapping[str, frozenset[str]]
_imported_names: ImmutableCache[str, frozenset[str]] = ImmutableCache(20_000)
"""Names that tests import, by the ids of their contents."""


@dataclass(frozen=True)
class GateFiles:
    """The files that commands name: folded paths of those of the gate, the contract and hooks.

    `named_by_ci` are paths of others on the base, with the CI configuration that names each.
    """

    folded: frozenset[str]
    named_by_ci: Mapping[str, str]


async def find_gate_files(context: RunContext, base: CommitId, files: Sequence[ChangedFile]) -> GateFiles:
    """Return what the commands name on `base`, and what is new and would be taken for it.

    Raises:
        GitError: the base does not exist.
    """
    git = context.repository.git
    tree = {entry.path: entry for entry in await list_tree(git, base) if entry.kind == "blob"}
    links = await _read_links(git, tree)
    imported = await _read_imported_names(git, [entry for path, entry in tree.items() if is_test_path(path)])
    reader = GateFileFinder(tree, imported, links)
    checks = [check.run for check in context.gate.checks]
    named = await _follow_names(git, reader, tree, [*checks, *_other_commands(context)])
    added = GateFileFinder([*tree, *(file.path for file in files if file.is_new)], imported, links)
    taken = set().union(*map(added.find_named_files, checks)) - tree.keys()
    folded = frozenset(map(fold_path, (*named, *taken)))
    return GateFiles(folded, await _find_files_of_ci(git, reader, tree))


async def _read_imported_names(git: Git, tests: Sequence[TreeEntry]) -> frozenset[str]:
    """Return the names that tests import; a file is looked at once, whatever commits it is in."""
    known, fresh = list[frozenset[str]](), list[str]()
    for entry in _choose_small_files(tests):
        names = _imported_names.get_value(entry.oid)
        if names is None:
            fresh.append(entry.oid)
        else:
            known.append(names)
    found = await to_thread.run_sync(_find_imported_names, await read_blobs(git, fresh))
    for oid, names in found.items():
        known.append(_imported_names.store_value(oid, names))
    return frozenset().union(*known)


def _find_imported_names(contents: Mapping[str, bytes]) -> dict[str, frozenset[str]]:
    return {oid: frozenset(iterate_imported_names(test)) for oid, test in contents.items()}


async def _find_files_of_ci(git: Git, reader: GateFileFinder, tree: Mapping[str, TreeEntry]) -> Mapping[str, str]:
    configurations = await _read_small_files(git, [entry for path, entry in tree.items() if is_ci_configuration(path)])
    return await to_thread.run_sync(_find_named_by_ci, reader, configurations)


def _find_named_by_ci(reader: GateFileFinder, configurations: Mapping[str, bytes]) -> Mapping[str, str]:
    named: dict[str, str] = {}
    for configuration, content in configurations.items():
        for command in iterate_ci_commands(content.decode("utf-8", "replace")):
            for path in reader.find_named_files(command):
                if find_path_protection(path) is None and not is_prose(path):
                    named.setdefault(path, configuration)
    return named


def _other_commands(context: RunContext) -> Iterator[str]:
    """Yield commands of the contract and of hooks. A file that only they name may have to be made first."""
    contract = context.state.goal.contract
    for one in contract.criteria if contract else ():
        if one.command:
            yield one.command
    for hook in context.config.hooks:
        yield hook.run


async def _follow_names(
    git: Git, reader: GateFileFinder, tree: Mapping[str, TreeEntry], commands: Sequence[str]
) -> set[str]:
    named, fresh = set[str](), await to_thread.run_sync(lambda: _join_named(map(reader.find_named_files, commands)))
    for _ in range(_HOPS):
        contents = await _read_small_files(git, [tree[path] for path in fresh])
        named |= fresh.keys()
        found = await to_thread.run_sync(_find_in_files, reader, contents, fresh)
        fresh = {path: words for path, words in found.items() if path not in named}
    return named | fresh.keys()


def _find_in_files(reader: GateFileFinder, contents: Mapping[str, bytes], named: _Named) -> _Named:
    return _join_named(reader.find_followed_files(path, text, named[path]) for path, text in contents.items())


def _join_named(found: Iterator[_Named]) -> _Named:
    joined: dict[str, frozenset[str]] = {}
    for one in found:
        for path, words in one.items():
            joined[path] = joined.get(path, frozenset()) | words
    return joined


async def _read_small_files(git: Git, entries: Sequence[TreeEntry]) -> Mapping[str, bytes]:
    """Return path → content of those that are not too large, as many as are read at all."""
    return await read_entry_contents(git, _choose_small_files(entries))


def _choose_small_files(entries: Sequence[TreeEntry]) -> Sequence[TreeEntry]:
    return [one for one in entries if (one.size or 0) <= _MOST_BYTES and one.mode != SYMLINK_MODE][:_MOST_READ]


async def _read_links(git: Git, tree: Mapping[str, TreeEntry]) -> Mapping[str, str]:
    links = [entry for entry in tree.values() if entry.mode == SYMLINK_MODE][:_MOST_READ]
    found = {}
    for path, content in (await read_entry_contents(git, links)).items():
        target = join_path(path.rpartition("/")[0], content.decode("utf-8", "surrogateescape"))
        if target:
            found[path] = target
    return found

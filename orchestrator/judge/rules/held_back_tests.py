"""The base's tests that judge a candidate's code: which files of a change are put back for that, and which stay."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from orchestrator.domain.run.grant import GrantIntent
from orchestrator.judge.files.changed_file import ChangedFile, PathProtection, find_path_protection
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.source.additions_only import describe_non_additive_change
from orchestrator.judge.support.base_sources import BaseSources

_CONFTEST = "conftest.py"


def list_held_back_tests(facts: ChangeFacts) -> tuple[str, ...]:
    """Return the changed tests whose base versions the candidate's code has to pass as well; new ones as absent.

    So are files that are surely support, which may only have gained something. Not among them is what the plan lets be
    rewritten, a file in which all that is not granted, or went with its code, says what it said, a new file to which
    tests of these two moved, and what all of them import: a module that is new or has only gained. Blocks.
    """
    spared = _list_spared_files(facts)
    held: dict[str, ChangedFile] = {}
    kept: dict[str, bytes] = {}
    for file in facts.files:
        support = facts.support.get(file.path)
        is_support = support is not None and support.is_certain
        if not (is_support or _is_test_support(file.path)):
            continue
        if file.path in spared or facts.is_granted(file.path, GrantIntent.REWRITE):
            kept[file.path] = file.after or b""
        else:
            held[file.path] = file
    for path in _list_moved_files(facts, kept):
        if path in held and held[path].is_new:
            kept[path] = held.pop(path).after or b""
    imported = set(_iterate_imported_modules(held, kept))
    return tuple(path for path in held if path not in imported)


def _list_moved_files(facts: ChangeFacts, kept: Collection[str]) -> list[str]:
    """Return the files that have tests of files that are kept, with the `__init__.py` of their directories."""
    found: dict[str, None] = {}
    for fate in facts.evolution.fates:
        if fate.old.key[0] in kept:
            for successor in fate.successors:
                found[successor.function.path] = None
    for path in [*found]:
        for folder in PurePosixPath(path).parents:
            found[str(folder / "__init__.py")] = None
    return [*found]


def _iterate_imported_modules(held: Mapping[str, ChangedFile], kept: Mapping[str, bytes]) -> Iterator[str]:
    """Yield what would be put back, and without which the files that are kept cannot be imported.

    A conftest.py is never among it: pytest takes it unasked, for tests that are put back as well.
    """
    modules = {path: file for path, file in held.items() if _may_stay(file)}
    sources = dict(kept)
    is_growing = bool(sources)
    while is_growing:
        found = _find_imported(modules, sources)
        for path in found:
            sources[path] = modules.pop(path).after or b""
        yield from found
        is_growing = bool(found)


def _find_imported(modules: Collection[str], sources: Mapping[str, bytes]) -> list[str]:
    known = BaseSources(paths=sources.keys(), sources=sources)
    return [path for path in modules if any(known.find_importers(path))]


def _may_stay(file: ChangedFile) -> bool:
    if not file.is_python or file.after is None or PurePosixPath(file.path).name == _CONFTEST:
        return False
    return file.is_new or not describe_non_additive_change(file.before or b"", file.after)


def _list_spared_files(facts: ChangeFacts) -> set[str]:
    """Return the test files of which some tests are granted or went with their code, and the others are the same."""
    excused, other = set[str](), set[str]()
    for fate in facts.evolution.fates:
        if fate.removed_name or (fate.needs is not None and facts.evolution.allows_fate(fate)):
            excused.add(fate.old.key[0])
        elif not fate.is_same and fate.old.is_collected:
            other.add(fate.old.key[0])
    return excused - other


def _is_test_support(path: str) -> bool:
    """Return True for tests, and for what pytest takes from a conftest.py beside them."""
    return find_path_protection(path) == PathProtection.TESTS or PurePosixPath(path).name == _CONFTEST

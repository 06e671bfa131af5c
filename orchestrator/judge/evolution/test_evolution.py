"""The fates of the tests in a change's files, with what the plan lets become of them."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from orchestrator.domain.judging.check import Difference
from orchestrator.domain.run.grant import AnyGrant, Grant, GrantIntent, merge_grants, read_grants
from orchestrator.judge.evolution.fates import TestFate, is_fate_granted, trace_tests
from orchestrator.judge.evolution.inherited_tests import is_test_method, list_heirs
from orchestrator.judge.evolution.test_functions import EvolvingTest
from orchestrator.judge.evolution.test_ids import TestIdIndex, list_possible_places
from orchestrator.judge.files.changed_file import ChangedFile, is_test_path
from orchestrator.judge.source.python_syntax import parse_python

_MAX_SYMBOLS = 5
_SUCCEEDING = (GrantIntent.RENAME, GrantIntent.MOVE, GrantIntent.REWRITE)


@dataclass(frozen=True)
class TestEvolution:
    """The files of a change and the grants that count for it."""

    __test__ = False  # pytest would take it for a test class

    files: Sequence[ChangedFile]
    grants: Sequence[AnyGrant]

    @cached_property
    def fates(self) -> Sequence[TestFate]:
        """The fates of the functions of the base's Python test files. Blocks."""
        return trace_tests(self.files)

    def allows_fate(self, fate: TestFate) -> bool:
        """Return True if what became of a test needs no grant, or has it."""
        return is_fate_granted(fate, self._known_grants)

    def may_remove(self, fate: TestFate) -> bool:
        """Return True if a grant lets a test go, in whatever classes it ran."""
        path, name = fate.old.key
        intent = GrantIntent.REMOVE
        return any(grant.matches_test(path, name, fate.old.used_names, intent) for grant in self._known_grants)

    def may_lose(self, test: str) -> bool:
        """Return True if a grant lets a test go that stands in no file of the change, so that only its id is known."""
        for path, name in list_possible_places(test):
            if any(grant.matches_test(path, name, (), GrantIntent.REMOVE) for grant in self._known_grants):
                return True
        return False

    def find_ids(self, test: EvolvingTest, index: TestIdIndex) -> list[str]:
        """Return the ids of a function with all its cases, in all classes that inherit it.

        Which classes of other files inherit it, the ids tell: what is called like it and belongs to no function of the
        change, in a class that has all tests of its own class. Of a class that no runner takes any namesake will do.
        """
        found = self._find_known_ids(test, index)
        if not is_test_method(test.function.name):
            return found
        siblings = self._list_siblings(test)
        claimed = {*found, *self._list_claimed_ids(test, index)}
        for name in index.find_namesakes(test.last_name):
            inherits = test.runs_elsewhere or (len(siblings) > 1 and index.has_beside(name, siblings))
            if inherits and name not in claimed:
                found.append(name)
        return found

    def _list_claimed_ids(self, test: EvolvingTest, index: TestIdIndex) -> Iterator[str]:
        """Yield the ids of other functions of the same name."""
        for fate in self.fates:
            for other in (fate.old, *fate.successors):
                if other.key != test.key and other.last_name == test.last_name:
                    yield from self._find_known_ids(other, index)

    def _list_siblings(self, test: EvolvingTest) -> set[str]:
        """Return the names of the tests that a test's class has on the base."""
        path, name = test.key
        owner = name.rpartition(".")[0]
        found = set()
        for fate in self.fates:
            other_path, other = fate.old.key
            if other_path == path and other.rpartition(".")[0] == owner and is_test_method(other):
                found.add(fate.old.last_name)
        return found

    @cached_property
    def unread_intents(self) -> frozenset[GrantIntent]:
        """The leave to change tests in other languages, as far as their files were changed.

        Which test stands in which file, no report of theirs tells.
        """
        found = set[GrantIntent]()
        for file in self.unread_files:
            for grant in self._known_grants:
                found.update(intent for intent in grant.may if grant.matches_file(file.path, (intent,)))
            if file.is_deleted and self._is_moved(file):
                found.add(GrantIntent.MOVE)
        return frozenset(found & {*_SUCCEEDING, GrantIntent.REMOVE})

    @cached_property
    def unread_files(self) -> Sequence[ChangedFile]:
        """The changed test files of the base in other languages than Python."""
        return [file for file in self.files if not (file.is_python or file.is_new) and is_test_path(file.path)]

    def list_lost_symbols(self) -> tuple[str, ...]:
        """Return the tests that are gone or may be skipped without a grant, by file and name.

        For a gate that tells no tests: there the files have to say it.
        """
        found = []
        for fate in self.fates:
            is_loss = fate.needs in {GrantIntent.REMOVE, GrantIntent.QUARANTINE}
            if fate.old.is_collected and is_loss and not self.allows_fate(fate):
                found.append(fate.symbol)
        for file in self.unread_files:
            if file.is_deleted and not (self._is_moved(file) or self._may_go(file)):
                found.append(file.path)
        return tuple(found)

    def list_needed_grants(self, difference: Difference, *, with_failures: bool) -> tuple[Grant, ...]:
        """Return the grants that would let tests be lost as they are in a difference, as far as any would.

        With failures only where it is the base's versions of the tests that fail.
        """
        if not with_failures:
            difference = difference.model_copy(update={"new_failures": ()})
        return merge_grants(self._iterate_needed_grants(difference))

    def _iterate_needed_grants(self, difference: Difference) -> Iterator[Grant]:
        index = TestIdIndex(difference.lost_tests)
        unread = list(difference.missing_tests)
        for fate in self.fates:
            found = self.find_ids(fate.old, index)
            found += [fate.symbol] * (fate.symbol in difference.missing_tests)
            if found:
                yield Grant(paths=(fate.symbol,), may=(_find_intent(fate, found, difference),))
                unread = [test for test in unread if test not in found]
        paths = tuple(file.path for file in self.unread_files)
        if not paths:
            paths = tuple(_iterate_symbols(unread))
        if unread and paths:
            yield Grant(paths=paths, may=(GrantIntent.REMOVE,))

    def _find_known_ids(self, test: EvolvingTest, index: TestIdIndex) -> list[str]:
        found = index.find_ids(*test.key)
        if index.find_namesakes(test.last_name):
            for heir in list_heirs(test.key, self._modules):
                found += index.find_ids(*heir)
        return found

    @cached_property
    def _modules(self) -> Sequence[tuple[str, ast.Module]]:
        """The syntax of all Python test files of the change, as they were and as they are."""
        modules = []
        for file in self.files:
            if file.is_python and is_test_path(file.path):
                for content in (file.before, file.after):
                    if (tree := parse_python(content or b"")) is not None:
                        modules.append((file.path, tree))
        return modules

    def _is_moved(self, file: ChangedFile) -> bool:
        return any(one.is_new and one.after == file.before and is_test_path(one.path) for one in self.files)

    def _may_go(self, file: ChangedFile) -> bool:
        return any(grant.matches_file(file.path, (GrantIntent.REMOVE,)) for grant in self._known_grants)

    @cached_property
    def _known_grants(self) -> tuple[Grant, ...]:
        return read_grants(self.grants)


def _iterate_symbols(tests: Sequence[str]) -> Iterator[str]:
    """Yield the likely places of tests of which only the ids are known; of many their files alone."""
    for test in tests:
        for path, name in list_possible_places(test)[:1]:
            yield f"{path}::{name}" if len(tests) <= _MAX_SYMBOLS else path


def _find_intent(fate: TestFate, tests: Sequence[str], difference: Difference) -> GrantIntent:
    if fate.needs is not None:
        return fate.needs
    if any(test in difference.new_failures for test in tests):
        return GrantIntent.REWRITE
    if any(test in difference.newly_skipped for test in tests):
        return GrantIntent.QUARANTINE
    return GrantIntent.REMOVE

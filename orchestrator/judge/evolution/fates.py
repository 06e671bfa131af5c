"""The fate of each function of the base's test files: the same, grown, rewritten, gone; and what that needs.

A function is found again by what it does, case by case: under another name, in another file, as a method or as a plain
function, as a case of a function with parameters. What does all that it did, and may do more, needs no grant. What
asserts something else needs `rewrite`, what is gone `remove`, what may be skipped from now on `quarantine`.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.domain.run.grant import Grant, GrantIntent
from orchestrator.judge.evolution.removed_code import RemovedCode, find_removed_code
from orchestrator.judge.evolution.test_functions import EvolvingTest, TestCase, read_test_file
from orchestrator.judge.files.changed_file import ChangedFile, is_test_path

_Place = tuple[tuple[str, str], int]
_Match = tuple[EvolvingTest, int]
"""A case of a new function, by its place among that function's cases."""


@dataclass(frozen=True)
class TestFate:
    """The fate of one function: the functions that say now what it said, none if it is gone.

    `needs` is the intent that has to be granted, `problem` says in words what became of it then; of a test that went
    with the code that it tested, `removed_name` is the name that is gone. `is_same` tells that it says the very same.
    """

    __test__ = False  # pytest would take it for a test class

    old: EvolvingTest
    successors: tuple[EvolvingTest, ...] = ()
    needs: GrantIntent | None = None
    problem: str = ""
    removed_name: str = ""
    is_same: bool = False

    @property
    def is_gone(self) -> bool:
        """True if nothing says any more what it said."""
        return not self.successors

    @property
    def symbol(self) -> str:
        """Its name for a grant: `tests/test_cart.py::TestCart.test_total`."""
        path, name = self.old.key
        return f"{path}::{name}"


def is_fate_granted(fate: TestFate, grants: Iterable[Grant]) -> bool:
    """Return True if what became of a test needs no grant, or has it."""
    if fate.needs is None:
        return True
    path, name = fate.old.key
    return any(grant.matches_test(path, name, fate.old.used_names, fate.needs) for grant in grants)


def trace_tests(files: Sequence[ChangedFile]) -> list[TestFate]:
    """Return the fate of every function of the test files that a change touched, in their order. Blocks."""
    old: list[EvolvingTest] = []
    new: list[EvolvingTest] = []
    for file in files:
        if file.is_python and is_test_path(file.path):
            old += read_test_file(file.path, file.before)
            new += read_test_file(file.path, file.after)
    if not old:
        return []
    return list(_Tracer(old, new, find_removed_code(files)).trace_all())


class _Tracer:
    """Finds functions again, the surest first: what stands where it stood, then what does the very same."""

    def __init__(self, old: Sequence[EvolvingTest], new: Sequence[EvolvingTest], removed: RemovedCode) -> None:
        self._old, self._removed = old, removed
        self._by_key = {one.key: one for one in new}
        self._known = {one.key for one in old}
        self._by_name: dict[str, list[EvolvingTest]] = {}
        self._by_body: dict[tuple[str, ...], list[_Match]] = {}
        for one in new:
            self._by_name.setdefault(one.last_name, []).append(one)
            for number, case in enumerate(one.cases):
                self._by_body.setdefault(case.body, []).append((one, number))
        self._taken: set[_Place] = set()
        self._fates: dict[tuple[str, str], TestFate] = {}

    def trace_all(self) -> Iterator[TestFate]:
        for old in self._old:
            if (place := self._by_key.get(old.key)) and _says_the_same(old, place):
                self._take([(place, number) for number in range(len(place.cases))])
                self._fates[old.key] = TestFate(old, (place,), is_same=True)
        for old in self._old:
            if old.key not in self._fates:
                self._fates[old.key] = self._trace(old)
        for old in self._old:
            yield self._fates[old.key]

    def _trace(self, old: EvolvingTest) -> TestFate:
        if (place := self._by_key.get(old.key)) and place.is_collected == old.is_collected:
            return self._compare_in_place(old, place)
        if found := self._find_same_cases(old):
            self._take(found)
            return _judge_successors(old, _list_functions(found), is_same=True)
        for other in self._list_namesakes(old):
            covering = self._find_covering_cases(old, other)
            if covering is not None:
                self._take(covering)
                return _judge_successors(old, (other,), is_same=False)
        if old.is_collected and (found := self._find_cases_elsewhere(old)):
            self._take(found)
            return _judge_successors(old, _list_functions(found), is_same=False)
        return self._judge_loss(old)

    def _compare_in_place(self, old: EvolvingTest, new: EvolvingTest) -> TestFate:
        found = self._find_covering_cases(old, new)
        if found is not None:
            self._take(found)
            return _judge_successors(old, (new,), is_same=False)
        if elsewhere := self._find_same_cases(old):
            self._take(elsewhere)
            return _judge_successors(old, _list_functions(elsewhere), is_same=True)
        if old.is_counted and new.is_counted and len(new.cases) < len(old.cases):
            return TestFate(old, (new,), GrantIntent.REMOVE, f"{old.last_name} lost cases")
        return TestFate(old, (new,), GrantIntent.REWRITE, f"{old.last_name} asks for something else than on the base")

    def _find_same_cases(self, old: EvolvingTest) -> list[_Match]:
        """Return for each case of a function a new one that does the very same; empty if one has none."""
        found: list[_Match] = []
        used = set(self._taken)
        for case in old.cases:
            match = self._find_same_case(old, case, used)
            if match is None:
                return []
            used.add((match[0].key, match[1]))
            found.append(match)
        return found

    def _find_same_case(self, old: EvolvingTest, case: TestCase, used: Collection[_Place]) -> _Match | None:
        matches = []
        for other, number in self._by_body.get(case.body, ()):
            is_free = (other.key, number) not in used
            if is_free and other.is_collected >= old.is_collected and other.decorators == old.decorators:
                matches.append((other, number))
        return min(matches, key=lambda match: match[0].last_name != old.last_name, default=None)

    def _find_covering_cases(self, old: EvolvingTest, new: EvolvingTest) -> list[_Match] | None:
        """Return for each case of a function a case of another one that asserts all of it; None if one has none."""
        if not (old.is_counted and new.is_counted):
            is_covered = new.cases[0].covers_assertions(old.cases[0])
            return [(new, 0)] if is_covered else None
        free = {number: case for number, case in enumerate(new.cases) if (new.key, number) not in self._taken}
        found: list[_Match] = []
        rest = []
        for case in old.cases:
            number = next((number for number, other in free.items() if other.body == case.body), None)
            if number is None:
                rest.append(case)
            else:
                del free[number]
                found.append((new, number))
        for case in rest:
            number = next((number for number, other in free.items() if other.covers_assertions(case)), None)
            if number is None:
                return None
            del free[number]
            found.append((new, number))
        return found

    def _find_cases_elsewhere(self, old: EvolvingTest) -> list[_Match]:
        """Return new cases under any name that assert all that a function's cases do; empty if one has none."""
        if not all(case.assertions for case in old.cases):
            return []
        for one in self._by_key.values():
            if one.key not in self._known and one.is_collected and (found := self._find_covering_cases(old, one)):
                return found
        return []

    def _list_namesakes(self, old: EvolvingTest) -> list[EvolvingTest]:
        found = []
        for one in self._by_name.get(old.last_name, ()):
            if one.key not in self._known and one.is_collected >= old.is_collected:
                found.append(one)
        return found

    def _judge_loss(self, old: EvolvingTest) -> TestFate:
        if not old.is_collected:
            if any(case.assertions for case in old.cases):
                return TestFate(old, (), GrantIntent.REWRITE, f"{old.last_name}, which asserts something, is gone")
            return TestFate(old)
        if name := self._removed.find_removed_name(old):
            return TestFate(old, removed_name=name)
        place = self._by_key.get(old.key)
        if place is not None:
            return TestFate(old, (), GrantIntent.REMOVE, f"no runner takes {old.last_name} for a test any more")
        if namesakes := self._list_namesakes(old):
            problem = f"{old.last_name} asks for something else than on the base"
            return TestFate(old, tuple(namesakes[:1]), GrantIntent.REWRITE, problem)
        return TestFate(old, (), GrantIntent.REMOVE, f"{old.last_name} is gone")

    def _take(self, found: Sequence[_Match]) -> None:
        for one, number in found:
            self._taken.add((one.key, number))


def _says_the_same(old: EvolvingTest, new: EvolvingTest) -> bool:
    is_like = old.is_collected == new.is_collected and old.decorators == new.decorators and old.marks == new.marks
    return is_like and Counter(case.body for case in old.cases) == Counter(case.body for case in new.cases)


def _list_functions(found: Sequence[_Match]) -> tuple[EvolvingTest, ...]:
    return tuple({one.key: one for one, _ in found}.values())


def _judge_successors(old: EvolvingTest, new: tuple[EvolvingTest, ...], *, is_same: bool) -> TestFate:
    """Return the fate of a function that is found again; marks that it did not have need a grant all the same."""
    for one in new:
        if added := sorted((one.marks - old.marks).keys()):
            problem = f"{one.last_name} has a new mark: {', '.join(added)}"
            return TestFate(old, new, GrantIntent.QUARANTINE, problem)
    return TestFate(old, new, is_same=is_same)

"""Ids of tests in reports, and the functions of test files that they belong to.

Reports write the same function as `tests.test_cart.TestCart::test_total[1]`, `tests/test_cart.py::TestCart::test_total`
or `tests.test_cart.TestCart.test_total`, from the repository's top or from a folder of it.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath

from orchestrator.domain.text.lazy_pattern import compile_lazily

_AGAIN = compile_lazily(r" #\d+\Z")
_Parts = tuple[str, ...]


class TestIdIndex:
    """Finds among ids of tests those of a function."""

    __test__ = False  # pytest would take it for a test class

    def __init__(self, ids: Iterable[str], base_ids: Iterable[str] = ()) -> None:
        """Index `ids`; `base_ids` are those of all tests of the base, where they are known."""
        self._base = frozenset(map(split_test_id, base_ids))
        self._ids: defaultdict[str, list[tuple[_Parts, str]]] = defaultdict(list)
        for test in ids:
            parts = split_test_id(test)
            self._ids[parts[-1]].append((parts, test))

    def find_ids(self, path: str, name: str) -> list[str]:
        """Return the ids of a function with all its cases, in their order.

        Args:
            path: the file that it stands in.
            name: its name there, with its classes before it.
        """
        names = name.split(".")
        file = PurePosixPath(path).with_suffix("")
        wanted = (*file.parts, *names)
        found = []
        for parts, test in self._ids.get(names[-1], ()):
            count = min(len(parts), len(wanted))
            if count > len(names) and parts[-count:] == wanted[-count:]:
                found.append(test)
        return found

    def find_namesakes(self, name: str) -> list[str]:
        """Return the ids of all functions of a name, without its classes, in any class of any file."""
        return [test for _, test in self._ids.get(name, ())]

    def has_beside(self, test: str, names: Iterable[str]) -> bool:
        """Return True if the class of a test has tests of all these names on the base."""
        place = split_test_id(test)[:-1]
        return all((*place, name) in self._base for name in names)


def split_test_id(test: str) -> _Parts:
    """Return the folders, modules, classes and the function that an id names, without parameters."""
    name = _AGAIN.sub("", test.partition("[")[0])
    name = name.replace(".py::", "::").replace("::", ".").replace("/", ".")
    return tuple(name.split("."))


def list_possible_places(test: str) -> list[tuple[str, str]]:
    """Return each Python file that an id may be of, with the test's name in it, the likeliest first.

    By custom only classes begin with a capital. Ids of other languages have none.
    """
    parts = split_test_id(test)
    places, unlikely = [], []
    if not all(map(str.isidentifier, parts)):
        return []
    for count in range(len(parts) - 1, 0, -1):
        place = ("/".join(parts[:count]) + ".py", ".".join(parts[count:]))
        if parts[count - 1][:1].isupper():
            unlikely.append(place)
        else:
            places.append(place)
    return [*places, *unlikely]

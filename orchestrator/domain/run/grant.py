"""Grants: what the plan lets a task do to files that are protected otherwise, by intent.

A plain text stands for a glob of files and for the intents of `PLAIN_INTENTS`: so plans and journals of earlier
versions have them.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.paths.globs import is_glob, matches_glob
from orchestrator.domain.text.lazy_pattern import compile_lazily

_SYMBOL = compile_lazily(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_NAMES_SOMETHING = compile_lazily(r"[^\W_]")
_TEST_MARK = "::"


class GrantIntent(StrEnum):
    """One thing that a task may do to protected files or to tests."""

    ADD = "add"
    RENAME = "rename"
    MOVE = "move"
    REWRITE = "rewrite"
    REMOVE = "remove"
    QUARANTINE = "quarantine"


PLAIN_INTENTS = (GrantIntent.ADD, GrantIntent.RENAME, GrantIntent.MOVE, GrantIntent.REWRITE)
"""The intents of a grant that names none: files may change in any way, and no test may go or be skipped."""


class Grant(FrozenModel):
    """Leave to do some things to some files, or to some tests.

    Each of `paths` is a glob of files, a test (`tests/test_cart.py::TestCart`), or a name of the product
    (`shop.flags.OLD_FLAG`), which stands for the tests that use it.
    """

    paths: tuple[str, ...] = Field(
        min_length=1,
        description="Globs of files; or tests, as tests/test_cart.py::TestCart; or a name of the code, as "
        "shop.flags.OLD_FLAG, for the tests that use it.",
    )
    may: tuple[GrantIntent, ...] = Field(min_length=1, description="What it may do to them.")

    def matches_file(self, path: str, intents: Iterable[GrantIntent]) -> bool:
        """Return True if it lets a whole file change by one of these intents."""
        return not set(self.may).isdisjoint(intents) and any(_matches_path(one, path) for one in self.paths)

    def matches_test(self, path: str, name: str, used_names: Iterable[str], intent: GrantIntent) -> bool:
        """Return True if it lets one test change by this intent.

        Args:
            path: the file of the test.
            name: the test in its file, with its classes before it: `TestCart.test_total`.
            used_names: the names that the test's code uses.
            intent: what is done to it.
        """
        if intent not in self.may:
            return False
        used = frozenset(used_names)
        return any(_matches_path(one, path) or _matches_symbol(one, path, name, used) for one in self.paths)


AnyGrant = str | Grant
"""A grant as a plan has it: a glob alone, or with what may be done."""


def read_grants(grants: Iterable[AnyGrant]) -> tuple[Grant, ...]:
    """Return all grants by intent, those that are plain globs as well."""
    found = []
    for grant in grants:
        if isinstance(grant, str):
            found.append(Grant(paths=(grant,), may=PLAIN_INTENTS))
        else:
            found.append(grant)
    return tuple(found)


def format_grant(grant: AnyGrant) -> str:
    """Return a grant for people: its paths, and what may be done where that is said."""
    if isinstance(grant, str):
        return grant
    return f"{', '.join(grant.paths)} ({', '.join(grant.may)})"


def format_grants(grants: Iterable[AnyGrant], separator: str = ", ") -> str:
    """Return grants for people in one line."""
    return separator.join(map(format_grant, grants))


def format_grant_advice(grant: Grant) -> str:
    """Return a grant as somebody writes it into a plan, after the words that ask for it."""
    paths = ", ".join(f'"{path}"' for path in grant.paths)
    intents = ", ".join(f'"{intent}"' for intent in grant.may)
    return f"grant it: {{paths = [{paths}], may = [{intents}]}}"


def merge_grants(grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """Return the same grants with paths of the same intents together, each once."""
    by_intents: dict[tuple[GrantIntent, ...], list[str]] = {}
    for grant in grants:
        by_intents.setdefault(grant.may, []).extend(grant.paths)
    merged = []
    for may, paths in by_intents.items():
        merged.append(Grant(paths=tuple(dict.fromkeys(paths)), may=may))
    return tuple(merged)


def parse_grant(text: str) -> Grant:
    """Return the grant that a person wrote as `PATH:INTENT[,INTENT…]`; without intents those of `PLAIN_INTENTS`.

    Raises:
        ValueError: an intent is none, or the path names nothing.
    """
    path, colon, words = text.rpartition(":")
    if not colon or path.endswith(":"):  # the colons of `tests/test_cart.py::TestCart`
        path, words = text, ""
    may = tuple(GrantIntent(word.strip()) for word in words.split(",")) if words else PLAIN_INTENTS
    problems = list(find_grant_problems(Grant(paths=(path,), may=may)))
    if problems:
        raise ValueError(problems[0])
    return Grant(paths=(path,), may=may)


def find_grant_problems(grant: AnyGrant) -> Iterator[str]:
    """Yield what of a grant names nothing that could be granted."""
    for path in read_grants([grant])[0].paths:
        file = path.partition(_TEST_MARK)[0]
        if not is_glob(file) or not _NAMES_SOMETHING.search(file):
            yield f"{path!r}: name the files, or a directory of them"


def _matches_path(granted: str, path: str) -> bool:
    return _TEST_MARK not in granted and matches_glob(granted, path)


def _matches_symbol(granted: str, path: str, name: str, used: frozenset[str]) -> bool:
    file, mark, symbol = granted.partition(_TEST_MARK)
    if mark:
        wanted, own = _split_name(symbol), _split_name(name)
        return matches_glob(file, path) and own[: len(wanted)] == wanted
    return _SYMBOL.fullmatch(granted) is not None and granted.rpartition(".")[2] in used


def _split_name(name: str) -> Sequence[str]:
    return name.partition("[")[0].replace(_TEST_MARK, ".").split(".")

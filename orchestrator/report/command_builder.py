"""Commands made from a row of the catalog and the values that a person gave, on the command line or in a dashboard."""

import re
from collections.abc import Iterable, Mapping

from pydantic import TypeAdapter

from orchestrator.domain.commands.catalog_entry import CatalogEntry
from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.run.contract import Contract, Criterion, split_criterion
from orchestrator.domain.run.person_review import ReviewComment
from orchestrator.errors import UsageProblem

_COMMENT = re.compile(r"(?P<path>.+?):(?P<line>[1-9][0-9]{0,8})=(?P<text>\s*\S.*)\Z", re.DOTALL)
_SHOWN = 80
_COMMANDS: TypeAdapter[Command] = TypeAdapter(Command)


def build_command(entry: CatalogEntry, fields: Mapping[str, object]) -> Command:
    """Return the command of a row with these fields.

    Raises:
        UsageProblem: an attempt is named without one of its turns.
    """
    if fields.get("attempt") is not None and fields.get("turn") is None:
        raise UsageProblem("--attempt says whose turn is meant: give the turn too (--from TURN)")
    return _COMMANDS.validate_python({"do": entry.do, **entry.fixed, **fields})


def parse_comments(texts: Iterable[str]) -> tuple[ReviewComment, ...]:
    """Return comments on lines from the words of people, each `PATH:LINE=TEXT`.

    Raises:
        UsageProblem: one of them is no comment.
    """
    comments = []
    for text in texts:
        found = _COMMENT.match(text)
        if found is None:
            problem = f"{text[:_SHOWN]!r} is no comment on a line"
            raise UsageProblem(f"{problem}: write PATH:LINE=TEXT, as src/a.py:12=rename x")
        comments.append(ReviewComment(path=found["path"], line=int(found["line"]), text=found["text"].strip()))
    return tuple(comments)


def build_criterion(contract: Contract | None, text: str, command: str) -> Criterion:
    """Return a criterion for `TEXT` or `ID: TEXT`, for a command that has to exit 0, or for both.

    Without an id it gets the first one that is free: `c3` after `c1` and `c2`, `must-2` after `must-1`.

    Raises:
        UsageProblem: both are empty.
    """
    text, command = text.strip(), command.strip()
    if not text and not command:
        raise UsageProblem('say what is asked for: "TEXT", --must "COMMAND", or both')
    name, words = split_criterion(text)
    if not name:
        name = _find_free_id(contract, "must-" if command else "c")
    return Criterion(id=name, text=words or f"`{command}` exits 0", command=command or None)


def _find_free_id(contract: Contract | None, prefix: str) -> str:
    taken = contract.ids if contract else frozenset()
    number = 1
    while f"{prefix}{number}" in taken:
        number += 1
    return f"{prefix}{number}"

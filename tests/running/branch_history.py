"""The history of a branch that rivals landed on, by git alone: its reflog, its line of first parents, its locks."""

import subprocess
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.running.projects import git


class RefMove(NamedTuple):
    """One line of a reflog."""

    old: str
    new: str


def branch_problems(root: Path, branch: str, passed: Collection[str]) -> Iterator[str]:
    """In words, every value of a branch that had not passed or was left, whatever landed twice, locks and damage."""
    moves, line = _read_moves(root, branch), git(root, "rev-list", "--first-parent", "--reverse", branch).split()
    for move in moves:
        if git(root, "rev-parse", f"{move.new}^{{tree}}") not in passed:
            yield f"{branch} was at {move.new}, whose tree has not passed"
    yield from _find_left_values(_drop_announced(moves, line[-1]), line)
    for unit, count in Counter(landed_units(root, branch)).items():
        if count > 1:
            yield f"{unit} landed {count} times"
    yield from (f"{lock} is left" for lock in (root / ".git").rglob("*.lock") if not _is_of_the_house(lock))
    damage = subprocess.run(["git", "fsck", "--no-dangling"], cwd=root, capture_output=True, text=True, check=False)
    if damage.returncode or damage.stdout.strip():
        yield f"git fsck: {damage.stdout}{damage.stderr}"


def landed_units(root: Path, branch: str) -> list[str]:
    """Every unit that the messages on the line of first parents name."""
    form = "--format=%(trailers:key=Orchestrate-Task,valueonly)"
    return git(root, "log", "--first-parent", form, branch).split()


def _read_moves(root: Path, branch: str) -> list[RefMove]:
    log = (root / ".git" / "logs" / "refs" / "heads" / branch).read_text()
    return [RefMove(*entry.split(" ", 2)[:2]) for entry in log.splitlines()]


def _drop_announced(moves: Sequence[RefMove], tip: str) -> list[RefMove]:
    """The moves that happened: git writes the log first, so that a kill may leave a line of one that did not."""
    after = [*(move.old for move in moves[1:]), tip]
    return [move for move, then in zip(moves, after, strict=True) if then != move.old]


def _find_left_values(moves: Sequence[RefMove], line: Sequence[str]) -> Iterator[str]:
    places = {commit: place for place, commit in enumerate(line)}
    before = -1
    for move in moves:
        place = places.get(move.new)
        if place is None or place <= before:
            yield f"{move.new} is no step forward on the line of first parents"
        else:
            before = place


def _is_of_the_house(lock: Path) -> bool:
    return lock.parent.name == ".git" and lock.name.startswith("orchestrate")

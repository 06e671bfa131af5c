"""A directory in which a run can be done over without touching the user's repository or the run itself."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.trees import remove_tree
from orchestrator.journal.runs import StateDirectory
from worktrees.borrow import borrow
from worktrees.lock import try_lock
from worktrees.repository import Repository

_LOCK = "lock"
_KEPT = "kept"


@dataclass(frozen=True)
class Scratch:
    """A repository that borrows the user's objects, and a state directory, both below `path`."""

    path: Path
    repository: Repository

    @property
    def state(self) -> StateDirectory:
        """Where the run's journal, worktrees and logs go."""
        return StateDirectory(self.path / "state")


@contextmanager
def scratch(repository: Repository, state: StateDirectory, keep: bool) -> Iterator[Scratch]:
    """A new scratch directory below `state`, removed at the end unless it is to be kept. Blocks.

    What killed processes have left there is removed first. What had to be made to hold it is removed as well.

    Raises:
        EnvironmentProblem: it cannot be made.
        GitError: git could not do it.
    """
    home = state.path / "replays"
    made = [place for place in (home, state.path, *state.path.parents) if not place.exists()]
    try:
        home.mkdir(parents=True, exist_ok=True)
        _sweep(home)
        path = home / secrets.token_hex(4)
        path.mkdir(parents=True)
        lock = try_lock(path / _LOCK)
    except OSError as error:
        raise EnvironmentProblem(
            f"no scratch directory can be made in {home}: {error.strerror or error}; make the state directory writable"
        ) from error
    try:
        yield Scratch(path, borrow(repository, path / "git"))
    finally:
        if keep:
            (path / _KEPT).touch()
        else:
            remove_tree(path)
        if lock is not None:
            os.close(lock)
        with suppress(OSError):  # something else lies there by now
            for place in made:
                place.rmdir()


def _sweep(home: Path) -> None:
    for path in home.iterdir():
        if (path / _KEPT).exists() or not path.is_dir():
            continue
        lock = try_lock(path / _LOCK)
        if lock is not None:
            remove_tree(path)
            os.close(lock)

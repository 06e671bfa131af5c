"""A directory in which a run can be done over without touching the user's repository or the run itself."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.files.session_folder import create_process_folder, keep_folder
from orchestrator.journal.locations.run_directory import StateDirectory
from worktrees.repositories.borrowing import create_borrowing_repository
from worktrees.repositories.repository import GitRepository


@dataclass(frozen=True)
class ScratchDirectory:
    """A repository that borrows the user's objects, and a state directory, both below `path`."""

    path: Path
    repository: GitRepository

    @property
    def state(self) -> StateDirectory:
        """The state directory for the run's journal, worktrees and logs."""
        return StateDirectory(self.path / "state")


@contextmanager
def create_scratch_directory(
    repository: GitRepository, state: StateDirectory, keep: bool
) -> Iterator[ScratchDirectory]:
    """Create a scratch directory below `state`, removed at the end unless `keep`. Blocks.

    What killed processes have left there is removed first. What had to be made to hold it is removed as well.

    Raises:
        EnvironmentProblem: it cannot be made.
        GitError: git could not do it.
    """
    home = state.path / "replays"
    made = []
    for directory in (home, state.path, *state.path.parents):
        if not directory.exists():
            made.append(directory)
    with ExitStack() as stack:
        stack.callback(_remove_directories, made)
        try:
            path = stack.enter_context(create_process_folder(home, secrets.token_hex(4)))
        except OSError as error:
            raise EnvironmentProblem(
                f"no scratch directory can be made in {home}: {error.strerror or error}; make the state directory "
                "writable"
            ) from error
        if keep:
            stack.callback(keep_folder, path)
        yield ScratchDirectory(path, create_borrowing_repository(repository, path / "git"))


def _remove_directories(made: list[Path]) -> None:
    with suppress(OSError):  # something else lies there by now
        for directory in made:
            directory.rmdir()

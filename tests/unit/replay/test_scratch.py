"""Scratch directories: removed at the end, also those of processes that were killed; kept ones stay."""

import os
from pathlib import Path

import pytest

from orchestrator.errors import EnvironmentProblem
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.project.scratch_directory import create_scratch_directory
from tests.running.projects import calculator
from worktrees.locks.file_lock import try_file_lock
from worktrees.repositories.repository import GitRepository


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    return GitRepository.open(calculator(tmp_path / "repo"))


def test_a_scratch_directory_is_gone_afterwards_unless_it_is_kept(repository: GitRepository, tmp_path: Path) -> None:
    state = StateDirectory(tmp_path / "state")
    with create_scratch_directory(repository, state, keep=False) as gone:
        assert gone.repository.read_head_commit() == repository.read_head_commit()
    with create_scratch_directory(repository, state, keep=True) as kept:
        pass
    with create_scratch_directory(repository, state, keep=False):
        assert (gone.path.exists(), kept.path.exists()) == (False, True)


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_uses_is_not(
    repository: GitRepository, tmp_path: Path
) -> None:
    places = [tmp_path / "state" / "replays" / name for name in ("dead", "alive")]
    for place in places:
        place.mkdir(parents=True)
        (place / "lock").touch()
    held = try_file_lock(places[1] / "lock")
    assert held is not None
    with create_scratch_directory(repository, StateDirectory(tmp_path / "state"), keep=False):
        assert [place.exists() for place in places] == [False, True]
    os.close(held)


def test_a_state_directory_that_cannot_be_used_is_told(repository: GitRepository, tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with (
        pytest.raises(EnvironmentProblem, match=r"no scratch directory can be made in .*Not a directory"),
        create_scratch_directory(repository, StateDirectory(tmp_path / "state"), keep=False),
    ):
        pass

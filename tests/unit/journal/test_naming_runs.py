"""The words that name a run: its id, a unique beginning, the whole ending after the last hyphen, or `latest`."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.errors import UsageProblem
from orchestrator.journal.locations.run_directory import StateDirectory

pytestmark = pytest.mark.damaged_journal  # only the names of the directories are read: the journals are empty files
FIRST, SECOND, THIRD = "20261120-101010-aaa1", "20261120-111111-bbb1", "20261121-090909-0ff2"


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    for run in (FIRST, SECOND, THIRD):
        place = tmp_path / "runs" / run
        place.mkdir(parents=True)
        (place / "journal.db").touch()
    return StateDirectory(tmp_path)


@pytest.mark.parametrize(
    ("wanted", "run"),
    [
        (FIRST, FIRST),
        ("20261121", THIRD),
        ("20261120-1", None),
        ("bbb1", SECOND),
        ("0ff2", THIRD),
        ("latest", THIRD),
        (None, THIRD),
    ],
)
def test_a_run_is_named_by_a_unique_beginning_its_whole_ending_or_latest(
    state: StateDirectory, wanted: str | None, run: str | None
) -> None:
    if run is not None:
        assert state.find_run(wanted).run == run
        return
    with pytest.raises(UsageProblem, match=f"fits more than one run: {FIRST}, {SECOND}$"):
        state.find_run(wanted)


@pytest.mark.parametrize("wanted", ["1", "2", "q1", "a1", "ff2", "1-0ff2", "1111"])
def test_a_part_of_an_id_that_is_neither_names_no_run(state: StateDirectory, wanted: str) -> None:
    with pytest.raises(UsageProblem, match=f"is no run of this repository: {FIRST}, {SECOND}, {THIRD}; a run is named"):
        state.find_run(wanted)


def test_runs_of_one_second_sort_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    state, now, begun = StateDirectory(tmp_path), datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), list[str]()
    for _ in range(40):
        directory = state.build_run_directory(now)
        directory.path.mkdir(parents=True)
        directory.journal.touch()
        begun.append(directory.run)
    assert begun == sorted(set(begun))
    assert state.find_run(None).run == begun[-1]

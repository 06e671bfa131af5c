"""The words that name a run: its id, a unique beginning, the whole ending after the last hyphen, or `latest`."""

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

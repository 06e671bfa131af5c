"""The words that name a run: its id, a unique beginning, the whole ending after the last hyphen, or `latest`."""

from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from orchestrator.app.run_creation import create_run_directory
from orchestrator.app.run_naming import hold_run_name
from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.ids import RunId
from orchestrator.errors import UsageProblem
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.journal.locations.run_names import require_free_run_name
from tests.running.goal_events import begun

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


async def begin_run(state: StateDirectory, run: str, name: str) -> None:
    """A run that a person has given a name."""
    started, *_ = begun()
    assert isinstance(started, RunStarted)
    events = (started.model_copy(update={"run": RunId(run), "name": name}),)
    await create_run_directory(state.get_run(RunId(run)), events)


async def test_a_run_is_found_by_the_name_that_a_person_gave_it_or_a_unique_beginning(state: StateDirectory) -> None:
    await begin_run(state, "20261122-090909-1111", "nightly")
    await begin_run(state, "20261122-090910-2222", "nightly-docs")
    await begin_run(state, "20261122-090911-3333", "")
    assert state.find_run("nightly").run == "20261122-090909-1111"
    assert state.find_run("nightly-d").run == "20261122-090910-2222"
    with pytest.raises(UsageProblem, match="'nigh' fits more than one run: 20261122-090909-1111, 20261122-090910-2222"):
        state.find_run("nigh")
    with pytest.raises(UsageProblem, match="'nig' is no run of this repository"):
        state.find_run("nig")


async def test_a_name_is_given_once_in_a_repository_and_means_no_other_run_of_it(state: StateDirectory) -> None:
    await begin_run(state, "20261122-090909-1111", "nightly")
    await begin_run(state, "20261122-090909-decade", "")
    with pytest.raises(UsageProblem, match="'nightly' is taken by run 20261122-090909-1111 of this repository"):
        require_free_run_name(state, "nightly")
    with pytest.raises(UsageProblem, match="'decade' already means run 20261122-090909-decade"):
        require_free_run_name(state, "decade")
    require_free_run_name(state, "nightly-docs")


async def test_of_two_that_name_a_run_at_once_the_second_sees_the_first(state: StateDirectory) -> None:
    refused = list[str]()

    async def name_run(run: str) -> None:
        try:
            async with hold_run_name(state, "nightly"):
                await anyio.sleep(0.05)
                await begin_run(state, run, "nightly")
        except UsageProblem as problem:
            refused.append(str(problem))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(name_run, "20261122-090909-1111")
        tasks.start_soon(name_run, "20261122-090910-2222")
    assert len(refused) == 1
    assert state.find_run("nightly")


def test_runs_of_two_repositories_within_a_second_sort_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    begun = []
    for hundredth in range(100):
        state = StateDirectory(tmp_path / f"repository{hundredth % 7}")
        begun.append(state.build_run_directory(now.replace(microsecond=hundredth * 10_000)).run)
    assert begun == sorted(set(begun))
